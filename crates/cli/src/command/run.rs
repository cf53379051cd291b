//! `waterline run`: say something to the agent and print its answer, in a session that is kept.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use waterline::message::Part;
use waterline_agent::{
    Agent, Ending, HandoffRunner, Outcome, Start, State, UserInput, Waiting, schema,
};
use waterline_config::Assembly;

use crate::lang::say;
use crate::mentions;
use crate::open_session::{self, Flags};
use crate::printer::Printer;
use crate::show::{kept, notice};
use crate::signals::stopped;
use crate::trust;

/// The exit status of a turn that has no full answer, and of one that waits for somebody.
const UNFINISHED: u8 = 1;
const WAITS: u8 = 3;

/// How long standard input may say nothing before somebody is told that it is waited for.
const SILENCE: Duration = Duration::from_secs(2);

/// Say something to the agent and print its answer
///
/// The agent works with tools in a workspace of its own until it has an answer. The session is
/// stored: name it again with --session and the conversation goes on, in another process, tomorrow,
/// with another model. What is sent stays inside the model's window; nothing is lost. Exit status:
/// 0 with an answer, 1 without a full one, 2 on an error, 3 when a person must answer first.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// What to say, with @names and #files; `-`, or nothing, takes it from standard input. Beside
    /// it, what comes through a pipe or from a file is said too, as data
    prompt: Option<String>,
    /// The session to continue; one that does not exist is created (default: a new one). Of
    /// generated ids, the first eight digits are enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Say nothing new: resume a session where it was interrupted, the last one used or the one of
    /// this id
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["session", "prompt"])]
    resume: Option<String>,
    /// The same for the session that --session names
    #[arg(long, hide = true, requires = "session", conflicts_with_all = ["prompt", "resume"])]
    again: bool,
    /// The system prompt of a new session
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// The answer must be JSON that fits the schema in this file; it is printed bare. A turn that
    /// goes on keeps its schema
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Agree to every call that would be asked about, except critical ones
    #[arg(long)]
    yes: bool,
    /// One JSON object an event, the last one with the figures of the turn
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (config, overrides) = (arguments.flags.config()?, arguments.flags.overrides());
    trust::check(&config, arguments.flags.trusts_project(), !arguments.json)?;
    let prompt = if arguments.resumes() { None } else { Some(prompt(arguments)?) };
    let schema = arguments.schema.as_ref().map(read_schema).transpose()?;
    // The log blocks: what is asked of it at once is asked here.
    let log = arguments.flags.database.open()?;
    let start = arguments.start();
    let known = start.find(&log)?;
    // A schema holds for its turn: one that is resumed keeps the schema it began with.
    let state = known.as_ref().map(State::of).transpose()?;
    let resumed = state
        .filter(|state| arguments.resumes() || matches!(state.pending, Some(Waiting::Question(_))));
    let is_late = resumed.is_some() && schema.is_some();
    let has_schema = resumed.map_or(schema.is_some(), |state| state.schema.is_some());
    let printer = Arc::new(Printer::new(arguments.json, arguments.yes, !has_schema));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let prepared = runtime.block_on(async {
        let (assembly, notices) = Assembly::new(config, overrides).await?;
        notices.iter().for_each(|told| printer.note(&notice(told)));
        let builder = assembly.builder(log.clone())?.start(start).prompt(arguments.system.clone());
        Ok::<_, anyhow::Error>(builder.prepare().await?)
    })?;
    if is_late {
        printer.note("--schema is for a new turn; this one goes on with the schema it began with");
    }
    prepared.config().notices.iter().for_each(|text| printer.note(text));
    prepared.kept.iter().for_each(|told| printer.note(&kept(told)));
    let (session, is_new) = (prepared.session.id.clone(), prepared.is_new);
    let outcome = runtime.block_on(async {
        let mut relay =
            HandoffRunner::open(log, &session, prepared.config().clone(), printer.clone()).await?;
        printer.begin(relay.agent.live(), is_new);
        let said = prompt.map(|prompt| {
            let (said, notices) = prompt.said(&relay.agent);
            (UserInput { schema, ..said }, notices)
        });
        turn(&mut relay, said, &printer).await
    });
    outcome.inspect_err(|error| printer.failed(&session, error))
}

impl Arguments {
    /// Whether a turn is resumed and nothing new is said.
    const fn resumes(&self) -> bool {
        self.again || self.resume.is_some()
    }

    fn start(&self) -> Start {
        let resume = if self.again { self.session.as_ref() } else { self.resume.as_ref() };
        open_session::start(self.session.as_ref(), resume)
    }
}

async fn turn(
    relay: &mut HandoffRunner,
    said: Option<(UserInput, Vec<String>)>,
    printer: &Printer,
) -> Result<ExitCode> {
    let (said, notices) = said.unzip();
    notices.into_iter().flatten().for_each(|text| printer.note(&text));
    let outcome = tokio::select! {
        outcome = relay.turn(said) => outcome?,
        () = stopped() => {
            relay.agent.live_mut().resync().await?;
            bail!("stopped; what was said and done is in session {}", relay.agent.live().session().id);
        }
    };
    printer.end(relay.agent.live(), &outcome)?;
    tokio::select! {
        () = relay.agent.live_mut().finish() => {}
        // The answer is there; whoever does not want to wait for a summary need not.
        () = stopped() => {}
    }
    Ok(status(&outcome))
}

fn status(outcome: &Outcome) -> ExitCode {
    match &outcome.ending {
        Ending::Done | Ending::HandOff { .. } => ExitCode::SUCCESS,
        Ending::Limit(_) | Ending::Halted(_) => ExitCode::from(UNFINISHED),
        Ending::Waiting(Waiting::Approval(_) | Waiting::Question(_)) => ExitCode::from(WAITS),
    }
}

/// What is said.
struct Prompt {
    /// What was written as an argument: its names and files count.
    written: Option<String>,
    /// What came on standard input, which is data.
    piped: Option<String>,
}

impl Prompt {
    /// What is said to the agent, and what the person should know about it.
    fn said(self, agent: &Agent) -> (UserInput, Vec<String>) {
        match (self.written, self.piped) {
            (Some(written), piped) => {
                let (mut said, notices) = mentions::read(agent, &written);
                // A number that nobody knows beforehand: what comes through the pipe cannot end its
                // block.
                let mark = RandomState::new().build_hasher().finish();
                let block = |data: String| {
                    format!("<stdin-{mark:x}>\n{}\n</stdin-{mark:x}>", data.trim_end())
                };
                said.parts.extend(piped.map(|data| Part::text(block(data))));
                (said, notices)
            }
            (None, piped) => (UserInput::new(piped.unwrap_or_default()), Vec::new()),
        }
    }
}

fn prompt(arguments: &Arguments) -> Result<Prompt> {
    let written = arguments.prompt.clone().filter(|text| text != "-");
    let reads = match (&written, &arguments.prompt) {
        (Some(_), _) => is_given(),
        (None, None) if std::io::stdin().is_terminal() => {
            bail!("there is nothing to say; give it as an argument or on standard input")
        }
        _ => true,
    };
    // Whoever wrote a prompt may not know that something else is waited for.
    let _waiting = (reads && written.is_some()).then(tell_of_waiting);
    let piped =
        if reads { Some(read_input()?).filter(|text| !text.trim().is_empty()) } else { None };
    if written.as_deref().unwrap_or_default().trim().is_empty() && piped.is_none() {
        bail!("there is nothing to say; --resume continues a session where it was interrupted");
    }
    Ok(Prompt { written, piped })
}

/// Whether somebody gives something on standard input beside the argument: it is a pipe or a file.
/// A terminal, a device such as /dev/null or a socket is not read, because it may never end.
fn is_given() -> bool {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let found = input.and_then(|input| File::from(input).metadata());
    // Who closed it gives nothing.
    found.is_ok_and(|found| found.is_file() || found.file_type().is_fifo())
}

/// Says after a while, once, that standard input is read, unless what is given is dropped before: a
/// pipe that nobody closes would be waited for in silence.
fn tell_of_waiting() -> Sender<()> {
    let (reading, ended) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if matches!(ended.recv_timeout(SILENCE), Err(RecvTimeoutError::Timeout)) {
            let told = say(
                "reading standard input; < /dev/null leaves it out",
                "正在读取标准输入；用 < /dev/null 可略过",
            );
            anstream::eprintln!("waterline: {told}");
        }
    });
    reading
}

fn read_input() -> Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("standard input is no text")?;
    Ok(text)
}

/// The schema in a file. One that cannot be used is told before anything is stored or paid for.
fn read_schema(path: &PathBuf) -> Result<Value> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the schema {}", path.display()))?;
    let schema: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))?;
    if schema.is_null() {
        bail!(
            "{} holds null, which is no schema; leave --schema out if any answer will do",
            path.display()
        );
    }
    schema::read(&schema)
        .with_context(|| format!("the schema {} cannot be used", path.display()))?;
    Ok(schema)
}
