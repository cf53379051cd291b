//! `waterline run`: say something to a model and print its answer, in a session that is kept.

use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use waterline::message::{Message, Role};
use waterline_log::{Log, LogError, Session};
use waterline_provider::answer::{Answer, Delta, Stop};
use waterline_session::memory::DayFiles;
use waterline_session::{Event, Live, Setup};

use crate::config::Config;
use crate::db::Database;
use crate::logging::LogArguments;
use crate::models::{self, Chosen, ModelArguments};
use crate::settings;
use crate::show::{cut, lines, number};

/// How long the title of a session is, which is what was said first.
const TITLE: usize = 60;

/// Say something to a model and print its answer
///
/// The session is stored: name it again with --session and the conversation goes on, in another process, tomorrow, with another
/// model. What is sent stays inside the model's window; nothing is lost.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// What to say; `-`, or nothing, takes it from standard input
    prompt: Option<String>,
    /// The session to go on with, or the beginning of its id; one that is not there is made (default: a new one)
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The system prompt of a new session
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    #[command(flatten)]
    model: ModelArguments,
    /// The policy: a preset or a file (default: from the config, else auto)
    #[arg(long)]
    policy: Option<String>,
    /// Sets a key of the policy, such as fold.high=60%
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = settings::setting)]
    sets: Vec<(String, String)>,
    /// The most tokens of the answer
    #[arg(long, value_name = "N")]
    max_tokens: Option<usize>,
    /// The folder of the day's memory files (default: from the config, else none)
    #[arg(long, value_name = "FOLDER")]
    memory: Option<PathBuf>,
    /// One JSON object an event, the last one with the figures of the call
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    logging: LogArguments,
    #[command(flatten)]
    database: Database,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.logging.begin()?;
    let prompt = prompt(arguments)?;
    let config = Config::load()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let setup = runtime.block_on(setup(arguments, &config))?;
    // The log blocks: what is asked of it at once is asked here.
    let log = arguments.database.open()?;
    let (session, is_new) = session(&log, arguments, &setup, &prompt)?;
    runtime.block_on(async {
        let live = Live::open(log, &session.id, setup).await?;
        say(arguments, live, prompt, is_new).await
    })
}

fn prompt(arguments: &Arguments) -> Result<String> {
    let text = match arguments.prompt.as_deref() {
        Some(text) if text != "-" => text.to_owned(),
        None if std::io::stdin().is_terminal() => {
            bail!("there is nothing to say; give it as an argument or on standard input")
        }
        _ => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("standard input is no text")?;
            text
        }
    };
    if text.trim().is_empty() {
        bail!("there is nothing to say");
    }
    Ok(text)
}

async fn say(arguments: &Arguments, mut live: Live, prompt: String, is_new: bool) -> Result<ExitCode> {
    let id = live.session().id.clone();
    let mut new = Vec::new();
    if let Some(system) = arguments.system.as_ref().filter(|_| is_new) {
        new.push(Message::text_of(Role::System, system));
    }
    new.push(Message::text_of(Role::User, prompt.trim_end()));
    let mut printer = Printer::new(arguments.json);
    if is_new && !arguments.json {
        anstream::eprintln!("session {id}, model {}", lines(&live.model().name));
    }
    let answer = tokio::select! {
        answer = live.call(new, |event| printer.event(&event)) => answer?,
        _ = tokio::signal::ctrl_c() => {
            live.settle().await?;
            bail!("stopped; what was said is in session {id}");
        }
    };
    printer.end(&live, &answer)?;
    tokio::select! {
        () = live.finish() => {}
        // The answer is there; whoever does not want to wait for a summary need not.
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(if answer.stop == Stop::Refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn setup(arguments: &Arguments, config: &Config) -> Result<Setup> {
    let chosen = Chosen { flag: arguments.policy.clone(), config: config.policy.clone(), sets: arguments.sets.clone() };
    let policy = chosen.policy()?;
    let model = arguments.model.candidate(config, &chosen).await?;
    let (fallback, summariser) = models::others(config, &chosen)?;
    let mut setup = Setup { fallback, summariser, ..Setup::new(model, policy) };
    setup.options.max_tokens = arguments.max_tokens;
    if let Some(folder) = arguments.memory.as_ref().or(config.memory.as_ref()) {
        setup.memory = Some(Arc::new(DayFiles::new(folder)));
    }
    Ok(setup)
}

/// The session to go on with, and whether it was made for this.
fn session(log: &Log, arguments: &Arguments, setup: &Setup, prompt: &str) -> Result<(Session, bool)> {
    let made = match &arguments.session {
        None => Session::with_new_id(),
        Some(id) => match log.find(id) {
            Ok(session) => return Ok((session, false)),
            Err(LogError::NoSession { .. }) => Session::new(id),
            Err(error) => return Err(error.into()),
        },
    };
    let title = cut(prompt.lines().next().unwrap_or_default(), TITLE);
    let (model, policy) = (Some(setup.model.name.clone()), Some(setup.policy.name.clone()));
    Ok((log.create(Session { title, model, policy, ..made })?, true))
}

/// Prints what happens as it happens.
struct Printer {
    json: bool,
    /// Text was printed that the next try begins anew.
    said: bool,
}

impl Printer {
    const fn new(json: bool) -> Self {
        Self { json, said: false }
    }

    fn event(&mut self, event: &Event) {
        if self.json {
            // Whoever closed the pipe does not want the rest.
            drop(writeln!(std::io::stdout(), "{}", json(event)));
            return;
        }
        match event {
            Event::Delta(Delta::Text(text)) => {
                anstream::print!("{}", lines(text));
                drop(std::io::stdout().flush());
                self.said = true;
            }
            Event::Delta(_) => {}
            Event::Again { why, wait } => {
                let after = if wait.is_zero() { String::new() } else { format!(" in {:.0} s", wait.as_secs_f64()) };
                self.note(&format!("trying again{after}: {why}"));
            }
            Event::Model(name) => self.note(&format!("asking {name} instead")),
            Event::Summarising => self.note("summing up what is folded"),
            Event::Folded { reason, before, after } => {
                self.note(&format!("folded from {} to {} tokens: {reason}", number(*before), number(*after)));
            }
            Event::Notice(text) => self.note(text),
        }
    }

    /// A word beside the answer.
    fn note(&mut self, text: &str) {
        if self.said {
            anstream::println!();
            self.said = false;
        }
        anstream::eprintln!("waterline: {}", lines(text));
    }

    fn end(&self, live: &Live, answer: &Answer) -> Result<()> {
        if !self.json {
            if self.said {
                anstream::println!();
            }
            return Ok(());
        }
        let usage = &answer.usage;
        let text: String = answer.messages.iter().map(Message::text).collect();
        let line = serde_json::json!({
            "event": "answer",
            "session": live.session().id,
            "model": live.model().name,
            "text": text,
            "stop": format!("{:?}", answer.stop).to_lowercase(),
            "prompt_tokens": usage.prompt(),
            "cached_tokens": usage.cache_read,
            "output_tokens": usage.output,
            "window": live.window(),
            "level": live.level().to_string(),
            "folds": live.generation().number,
        });
        writeln!(std::io::stdout(), "{line}")?;
        Ok(())
    }
}

fn json(event: &Event) -> serde_json::Value {
    use serde_json::json;
    match event {
        Event::Delta(Delta::Text(text)) => json!({"event": "text", "text": text}),
        Event::Delta(Delta::Thinking(text)) => json!({"event": "thinking", "text": text}),
        Event::Delta(Delta::Call { at, id, name }) => json!({"event": "call", "at": at, "id": id, "name": name}),
        Event::Delta(Delta::Arguments { at, json }) => json!({"event": "arguments", "at": at, "json": json}),
        Event::Again { why, wait } => json!({"event": "again", "why": why, "wait_ms": wait.as_millis()}),
        Event::Model(name) => json!({"event": "model", "model": name}),
        Event::Summarising => json!({"event": "summarising"}),
        Event::Folded { reason, before, after } => {
            json!({"event": "folded", "reason": reason, "before": before, "after": after})
        }
        Event::Notice(text) => json!({"event": "notice", "text": text}),
    }
}
