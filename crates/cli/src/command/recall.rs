//! `waterline recall`: finds messages of earlier sessions.

use std::collections::HashMap;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use waterline_agent::AgentError;
use waterline_agent::environment::without_notes;
use waterline_config::{Config, RecallEncoders};
use waterline_log::{Filter, Log, Numbering, Session};
use waterline_session::{Passage, PassageLine, Recall, RecallRequest};

use crate::db::Database;
use crate::environment::environment;
use crate::ids;
use crate::input::{output, raw_output};
use crate::show::{DIM, match_reason, passage, plain, room};
use crate::text;

/// How many sessions are searched closely. The word index of the log chooses them.
const SESSIONS: usize = 20;

/// How many messages the word index returns to choose them.
const CANDIDATES: usize = 400;

/// How long to wait for the encoder. It is loaded first, and no reply waits for this command.
const ENCODER_TIMEOUT: Duration = Duration::from_secs(5);

/// Find messages of earlier sessions by a question or a few words
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Question, or words to find
    #[arg(required = true)]
    question: Vec<String>,
    /// Search only in this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// User whose sessions are searched (default: $WATERLINE_USER, else sessions without a user)
    #[arg(long, value_name = "NAME", env = "WATERLINE_USER")]
    user: Option<String>,
    /// Maximum number of results per session
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value_t = 3,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    limit: u16,
    /// Print one JSON object per message
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: Database,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let log = arguments.database.open_existing()?;
    let question = arguments.question.join(" ");
    let sessions = match &arguments.session {
        Some(id) => vec![named(&log, id, arguments.user.as_deref())?],
        None => candidates(&log, &question, arguments.user.as_deref())?,
    };
    let config = Config::load(Arc::clone(environment()))?;
    let encoders = RecallEncoders::find(&config)?
        .into_encoders()
        .map(|encoders| Arc::new(encoders.with_timeout(ENCODER_TIMEOUT)));
    let mut out = if arguments.json { raw_output() } else { output() };
    let mut any = false;
    for session in &sessions {
        let chars = if arguments.json { 1_500 } else { room(8) };
        let request = RecallRequest::new(&question, arguments.limit.into(), chars);
        let recall = Recall::new(without_notes).with_encoders(encoders.clone());
        let found = recall.search(&log, &session.id, &request)?;
        any |= !found.is_empty();
        let numbering = log.numbering(session)?;
        match arguments.json {
            true => json_lines(&mut out, session, &found, &numbering)?,
            false => print(&mut out, session, &found, &numbering)?,
        }
    }
    if !any && !arguments.json {
        writeln!(out, "{}", text!("search-empty"))?;
    }
    out.flush()?;
    Ok(if any { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the session with an id, unless it belongs to another user than the named one.
fn named(log: &Log, id: &str, user: Option<&str>) -> Result<Session> {
    let session = log.find(id)?;
    match session.user.as_deref() {
        Some(owner) if user.is_some_and(|user| user != owner) => {
            Err(AgentError::OtherUser { session: session.id }.into())
        }
        _ => Ok(session),
    }
}

/// Returns the user's sessions with the most messages that have words of the question.
fn candidates(log: &Log, question: &str, user: Option<&str>) -> Result<Vec<Session>> {
    let filter = Filter { user: user.map(str::to_owned), ..Filter::default() };
    let own: HashMap<String, Session> = log
        .sessions(&filter)?
        .into_iter()
        .filter(|session| session.user.as_deref() == user)
        .map(|session| (session.id.clone(), session))
        .collect();
    // Short logs are searched whole.
    if own.len() <= SESSIONS {
        let mut all: Vec<Session> = own.into_values().collect();
        all.sort_by_key(|session| std::cmp::Reverse(session.active));
        return Ok(all);
    }
    let mut counts: HashMap<String, u32> = HashMap::new();
    for hit in log.search_of_user(question, user, CANDIDATES)? {
        if let Some(id) = hit.session {
            *counts.entry(id).or_default() += hit.score.max(1);
        }
    }
    let mut ranked: Vec<(u32, String)> =
        counts.into_iter().map(|(id, count)| (count, id)).collect();
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    let best = ranked.into_iter().take(SESSIONS);
    Ok(best.filter_map(|(_, id)| own.get(&id).cloned()).collect())
}

fn print(
    out: &mut impl Write,
    session: &Session,
    found: &[Passage],
    numbering: &Numbering,
) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let title = plain(&session.title);
    writeln!(out, "{}  {title}", ids::short(&session.id))?;
    for found in found {
        let [about, text] = passage(found, numbering);
        writeln!(out, "{DIM}{about}{DIM:#}\n{text}")?;
    }
    Ok(())
}

fn json_lines(
    out: &mut impl Write,
    session: &Session,
    found: &[Passage],
    numbering: &Numbering,
) -> Result<()> {
    for found in found {
        let message = numbering.count(found.position);
        let why = found.reasons.iter().map(match_reason).collect();
        let line = PassageLine::new(&session.id, message, found, why);
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
    }
    Ok(())
}
