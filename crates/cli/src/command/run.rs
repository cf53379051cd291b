//! `waterline run`: sends one message to the agent and prints its answer. The session is stored.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::IsTerminal;
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
use waterline_agent::{Agent, Ending, HandoffRunner, Outcome, State, UserInput, Waiting, schema};
use waterline_log::{MAX_INPUT_BYTES, read_all};

use crate::mentions::{self, Mentions};
use crate::open_session::{Flags, NamedSession, missing_model};
use crate::printer::Printer;
use crate::show::model_notes;
use crate::signals::stopped;
use crate::text;

/// The exit status of a turn without a full answer, and of one that waits for the user.
const UNFINISHED: u8 = 1;
const WAITS: u8 = 3;

/// How long to wait for standard input before telling the user.
const SILENCE: Duration = Duration::from_secs(2);

/// The largest schema that is read.
const MAX_SCHEMA_BYTES: usize = 1 << 20;

/// Send a message to the agent and print its answer
///
/// The agent works with tools, in this directory if it is a git work tree, until it has an answer.
/// Without a terminal it does not change files here unless --yes, --approval none, or an earlier
/// "always" in a chat allows it; --workspace private keeps it in a directory of its own. The
/// session is stored: continue it with --session, at any time, in another process or with another
/// model. The context stays within the model's window; nothing is lost. Exit status: 0 with an
/// answer, 1 without a full answer, 2 on an error, 3 if the agent waits for an answer or an
/// approval.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Message, with @names and #files; `-` or no message reads it from standard input. With a
    /// message, piped input is attached as data
    prompt: Option<String>,
    /// Session to continue, created if it does not exist (default: a new one); eight digits of a
    /// generated id are enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Resume a session where it was interrupted, without a new message, in the directory where it
    /// worked (default: the latest of this directory)
    #[arg(
        long,
        value_name = "ID",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["session", "prompt"]
    )]
    resume: Option<String>,
    /// Former name of --resume, for the session that --session names
    #[arg(long, hide = true, requires = "session", conflicts_with_all = ["prompt", "resume"])]
    again: bool,
    /// System prompt of a new session
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Require an answer that matches the JSON schema in this file, and print only the JSON. A
    /// resumed turn keeps its schema
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Approve every call that needs approval, except critical ones, commands without a sandbox,
    /// and changes to protected paths
    #[arg(long)]
    yes: bool,
    /// Print one JSON object per event; the last one has the totals of the turn
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let settled = arguments.flags.settle(!arguments.json)?;
    let prompt = if arguments.resumes() { None } else { Some(prompt(arguments)?) };
    let schema = arguments.schema.as_ref().map(read_schema).transpose()?;
    // The log blocks, so it is read before the runtime starts.
    let opening = settled.open(&arguments.flags.database, arguments.named())?;
    // A schema applies to one turn: a resumed turn keeps the schema it started with.
    let state = opening.known.as_ref().map(State::of).transpose()?;
    let resumed = state
        .filter(|state| arguments.resumes() || matches!(state.pending, Some(Waiting::Question(_))));
    let is_schema_late = resumed.is_some() && schema.is_some();
    let has_schema = resumed.map_or(schema.is_some(), |state| state.schema.is_some());
    let printer = Arc::new(Printer::new(arguments.json, arguments.yes, !has_schema));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let note = |text: &str| printer.note(text);
    let (assembly, prepared) = runtime.block_on(opening.prepare(arguments.system.clone(), note))?;
    if is_schema_late {
        printer.note(&text!("run-schema-kept"));
    }
    let session = prepared.session.id.clone();
    let is_new = prepared.is_new;
    let outcome = runtime.block_on(async {
        let mut runner = prepared.runner(printer.clone()).await?;
        printer.begin(&runner.agent, is_new);
        if is_new {
            model_notes(runner.agent.live()).iter().for_each(|note| printer.note(note));
        }
        if prompt.is_none()
            && let Some(model) = missing_model(&runner.agent, &assembly)?
        {
            bail!(text!("resume-model-missing", model = model));
        }
        let input = prompt.map(|prompt| {
            let read = prompt.input(&runner.agent);
            read.notices.iter().for_each(|text| printer.note(text));
            if read.is_incomplete {
                bail!(text!("mention-not-sent"));
            }
            Ok(UserInput { schema, ..read.input })
        });
        let input = input.transpose()?;
        turn(&mut runner, input, &printer).await
    });
    outcome.inspect_err(|error| printer.failed(&session, error))
}

impl Arguments {
    /// Whether a turn is resumed without a new message.
    const fn resumes(&self) -> bool {
        self.again || self.resume.is_some()
    }

    /// Returns the session to continue and the one to resume.
    const fn named(&self) -> NamedSession<'_> {
        let resume = if self.again { self.session.as_ref() } else { self.resume.as_ref() };
        (self.session.as_ref(), resume)
    }
}

async fn turn(
    runner: &mut HandoffRunner,
    input: Option<UserInput>,
    printer: &Printer,
) -> Result<ExitCode> {
    let outcome = tokio::select! {
        outcome = runner.turn(input) => outcome?,
        never = printer.attend() => match never {},
        () = stopped() => {
            runner.agent.live_mut().reload_if_interrupted().await?;
            let id = runner.agent.live().session().id.as_str();
            bail!(text!("run-stopped", session = id));
        }
    };
    printer.end(runner.agent.live(), &outcome)?;
    tokio::select! {
        finished = runner.agent.finish() => finished?,
        // The answer is printed; the user need not wait for a summary.
        () = stopped() => {}
    }
    Ok(status(&outcome))
}

fn status(outcome: &Outcome) -> ExitCode {
    match &outcome.ending {
        Ending::Done | Ending::HandOff { .. } => ExitCode::SUCCESS,
        Ending::Waiting(_) => ExitCode::from(WAITS),
        _ => ExitCode::from(UNFINISHED),
    }
}

/// The message to send.
struct Prompt {
    /// The argument, whose mentions take effect.
    written: Option<String>,
    /// Standard input, which is data.
    piped: Option<String>,
}

impl Prompt {
    /// Returns the input for the agent.
    fn input(self, agent: &Agent) -> Mentions {
        match (self.written, self.piped) {
            (Some(written), piped) => {
                let mut read = mentions::read(agent, &written);
                // A random mark, so that piped data cannot close its own block.
                let mark = RandomState::new().build_hasher().finish();
                let block = |data: String| {
                    format!("<stdin-{mark:x}>\n{}\n</stdin-{mark:x}>", data.trim_end())
                };
                read.input.parts.extend(piped.map(|data| Part::text(block(data))));
                read
            }
            (None, piped) => Mentions {
                input: UserInput::new(piped.unwrap_or_default()),
                notices: Vec::new(),
                is_incomplete: false,
            },
        }
    }
}

fn prompt(arguments: &Arguments) -> Result<Prompt> {
    let written = arguments.prompt.clone().filter(|text| text != "-");
    let reads = match (&written, &arguments.prompt) {
        (Some(_), _) => is_given(),
        (None, None) if std::io::stdin().is_terminal() => {
            bail!(text!("run-no-message"))
        }
        _ => true,
    };
    // A user who gave a prompt may not know that standard input is read too.
    let _waiting = (reads && written.is_some()).then(warn_about_waiting);
    let piped =
        if reads { Some(read_input()?).filter(|text| !text.trim().is_empty()) } else { None };
    if written.as_deref().unwrap_or_default().trim().is_empty() && piped.is_none() {
        bail!(text!("run-empty-message"));
    }
    Ok(Prompt { written, piped })
}

/// Whether standard input is a pipe or a file. A terminal, a device such as /dev/null or a socket
/// is not read in addition to a prompt, because it may never end.
fn is_given() -> bool {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let found = input.and_then(|input| File::from(input).metadata());
    // A closed standard input is empty.
    found.is_ok_and(|found| found.is_file() || found.file_type().is_fifo())
}

/// Prints a notice after a while that standard input is being read, unless the returned sender is
/// dropped first. Without it, the program would wait silently for an open pipe.
fn warn_about_waiting() -> Sender<()> {
    let (reading, ended) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if matches!(ended.recv_timeout(SILENCE), Err(RecvTimeoutError::Timeout)) {
            anstream::eprintln!("waterline: {}", text!("run-reading-stdin"));
        }
    });
    reading
}

fn read_input() -> Result<String> {
    let bytes = read_all(&mut std::io::stdin().lock(), MAX_INPUT_BYTES)
        .with_context(|| text!("cannot-read", path = text!("standard-input")))?;
    String::from_utf8(bytes).with_context(|| text!("run-stdin-not-text"))
}

/// Reads a schema. An invalid one is reported before anything is stored or paid for.
fn read_schema(path: &PathBuf) -> Result<Value> {
    let name = path.display().to_string();
    let text = std::fs::File::open(path)
        .and_then(|mut file| read_all(&mut file, MAX_SCHEMA_BYTES))
        .with_context(|| text!("cannot-read", path = name.as_str()))?;
    let schema: Value = serde_json::from_slice(&text).with_context(|| name.clone())?;
    if schema.is_null() {
        bail!(text!("run-schema-null", path = name));
    }
    schema::read(&schema).with_context(|| text!("run-schema-invalid", path = name))?;
    Ok(schema)
}
