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

/// How long ids are that were made for somebody, and how much of one is enough.
const MADE: usize = 32;
const ENOUGH: usize = 8;

/// Say something to a model and print its answer
///
/// The session is stored: name it again with --session and the conversation goes on, in another process, tomorrow, with another
/// model. What is sent stays inside the model's window; nothing is lost.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// What to say; `-`, or nothing, takes it from standard input
    prompt: Option<String>,
    /// The session to go on with; one that is not there is made (default: a new one). Of ids that were made for you, the first
    /// eight digits are enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Say nothing new: ask again for the answer to what was said last
    #[arg(long, requires = "session", conflicts_with = "prompt")]
    again: bool,
    /// The system prompt of a new session
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    #[command(flatten)]
    model: ModelArguments,
    /// The policy: a preset or a file (default: the one the session was begun with, else from the config, else auto)
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
    let prompt = if arguments.again { None } else { Some(prompt(arguments)?) };
    let config = Config::load()?;
    // The log blocks: what is asked of it at once is asked here.
    let log = arguments.database.open()?;
    let known = known(&log, arguments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let setup = runtime.block_on(setup(arguments, &config, known.as_ref()))?;
    let (session, is_new) = match known {
        Some(session) => (keep_policy(&log, session, arguments)?, false),
        None => (create(&log, arguments, &setup, prompt.as_deref().unwrap_or_default())?, true),
    };
    let mut printer = Printer::new(arguments.json);
    let outcome = runtime.block_on(async {
        let live = Live::open(log, &session.id, setup).await?;
        say(arguments, live, (prompt, is_new), &mut printer).await
    });
    outcome.inspect_err(|error| printer.failed(&session.id, error))
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
        bail!("there is nothing to say; --again asks once more for the answer to what was said last");
    }
    Ok(text)
}

async fn say(
    arguments: &Arguments,
    mut live: Live,
    (prompt, is_new): (Option<String>, bool),
    printer: &mut Printer,
) -> Result<ExitCode> {
    printer.begin(&live, is_new);
    let mut new = Vec::new();
    match &arguments.system {
        Some(system) if is_new => new.push(Message::text_of(Role::System, system)),
        Some(_) => printer.note("--system is for new sessions; this one keeps the prompt it has"),
        None => {}
    }
    new.extend(prompt.map(|prompt| Message::text_of(Role::User, prompt.trim_end())));
    let answer = tokio::select! {
        answer = live.call(new, |event| printer.event(&event)) => answer?,
        () = stopped() => {
            live.settle().await?;
            bail!("stopped; what was said is in session {}", live.session().id);
        }
    };
    printer.end(&live, &answer)?;
    tokio::select! {
        () = live.finish() => {}
        // The answer is there; whoever does not want to wait for a summary need not.
        () = stopped() => {}
    }
    Ok(if answer.stop == Stop::Refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Somebody wants the program to end.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut terminate), Ok(mut hangup)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
        else {
            return drop(tokio::signal::ctrl_c().await);
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
    #[cfg(not(unix))]
    drop(tokio::signal::ctrl_c().await);
}

async fn setup(arguments: &Arguments, config: &Config, known: Option<&Session>) -> Result<Setup> {
    let begun = known.and_then(|session| session.policy.clone());
    let config_policy = begun.or_else(|| config.policy.clone());
    let chosen = Chosen { flag: arguments.policy.clone(), config: config_policy, sets: arguments.sets.clone() };
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

/// The session that is named, if it is there. The beginning of an id is enough only for ids that were made for somebody: a name
/// that somebody chose may be the beginning of another.
fn known(log: &Log, arguments: &Arguments) -> Result<Option<Session>> {
    let Some(id) = &arguments.session else { return Ok(None) };
    let is_made = |id: &str| id.len() == MADE && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    match log.find(id) {
        Ok(session) if session.id == *id => Ok(Some(session)),
        Ok(session) if is_made(&session.id) && id.len() >= ENOUGH => Ok(Some(session)),
        Err(error @ LogError::Ambiguous { .. }) if id.len() >= ENOUGH && id.bytes().all(|b| b.is_ascii_hexdigit()) => {
            Err(error.into())
        }
        Ok(_) | Err(LogError::NoSession { .. } | LogError::Ambiguous { .. }) if !arguments.again => Ok(None),
        Ok(_) => bail!("there is no session {id:?}; `waterline sessions list` shows those there are"),
        Err(error) => Err(error.into()),
    }
}

/// A session keeps the policy it was last given.
fn keep_policy(log: &Log, mut session: Session, arguments: &Arguments) -> Result<Session> {
    if arguments.policy.is_some() && session.policy != arguments.policy {
        session.policy.clone_from(&arguments.policy);
        log.save(&session)?;
    }
    Ok(session)
}

fn create(log: &Log, arguments: &Arguments, setup: &Setup, prompt: &str) -> Result<Session> {
    let made = arguments.session.as_ref().map_or_else(Session::with_new_id, Session::new);
    let title = cut(prompt.lines().next().unwrap_or_default(), TITLE);
    let policy = arguments.policy.clone().or_else(|| Some(setup.policy.name.clone()));
    Ok(log.create(Session { title, model: Some(setup.model.name.clone()), policy, ..made })?)
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

    /// Which session, and which model.
    fn begin(&self, live: &Live, is_new: bool) {
        let (id, model) = (&live.session().id, &live.model().name);
        if self.json {
            drop(writeln!(
                std::io::stdout(),
                "{}",
                serde_json::json!({"event": "session", "session": id, "model": model})
            ));
        } else if is_new {
            anstream::eprintln!("session {id}, model {}", lines(model));
        }
    }

    /// Why there is no answer.
    fn failed(&mut self, session: &str, error: &anyhow::Error) {
        if self.json {
            let line = serde_json::json!({"event": "error", "session": session, "message": format!("{error:#}")});
            drop(writeln!(std::io::stdout(), "{line}"));
        } else if self.said {
            anstream::println!();
        }
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

    fn end(&mut self, live: &Live, answer: &Answer) -> Result<()> {
        if !self.json {
            if self.said {
                anstream::println!();
                self.said = false;
            }
            if let Some(text) = odd_ending(answer) {
                self.note(text);
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

/// What is to be said about an answer that is not what somebody waits for.
fn odd_ending(answer: &Answer) -> Option<&'static str> {
    let has_calls = answer.messages.iter().any(|message| message.calls().next().is_some());
    let has_text = answer.messages.iter().any(Message::has_text);
    match answer.stop {
        Stop::Length => Some("the answer was cut at its limit of tokens; --max-tokens sets another"),
        Stop::Refused => Some("the model, or a filter of its provider, refused to answer"),
        _ if has_calls => Some("the model called a tool, and there is none here; its call is in the session"),
        _ if !has_text => Some("the answer was empty"),
        _ => None,
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
