//! `waterline sessions rewind`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use waterline_log::{Id, Log, Session, To};

use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{number, plain};

/// Go back in a session; what comes after is kept
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The session's id, or the beginning of it
    id: String,
    #[command(flatten)]
    to: Location,
    /// One JSON object: the session as it is now
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Location {
    /// To where it was after its first N messages
    #[arg(long, value_name = "N")]
    to: Option<u64>,
    /// By N messages
    #[arg(long, value_name = "N")]
    by: Option<u64>,
    /// By N turns: to before the user message that opened the last of them
    #[arg(long, value_name = "N")]
    turns: Option<u64>,
    /// To the message of this id, or of which the id begins so
    #[arg(long, value_name = "ID")]
    message: Option<String>,
}

impl Location {
    fn place(&self, log: &Log, session: &Session) -> Result<To> {
        Ok(match self {
            Self { to: Some(position), .. } => To::Position(*position),
            Self { by: Some(count), .. } => To::Messages(*count),
            Self { turns: Some(count), .. } => To::Turns(*count),
            Self { message: Some(id), .. } => To::Message(message(log, session, id)?),
            _ => To::Messages(0),
        })
    }
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let before = log.find(&arguments.id)?;
    let after = log.rewind(&before.id, arguments.to.place(&log, &before)?)?;
    report(&before, &after, arguments.json)
}

/// The message of a session whose id begins so.
fn message(log: &Log, session: &Session, prefix: &str) -> Result<Id> {
    let mut found = Vec::new();
    log.each(session.tip, 0..session.tip.position(), |entry| {
        found.extend(Some(entry.id).filter(|id| id.to_string().starts_with(prefix)));
        Ok(())
    })?;
    match found.as_slice() {
        [id] => Ok(*id),
        [] => bail!("session {} has no message {prefix}; `show --json` has their ids", session.id),
        _ => bail!("{prefix} fits {} messages; give more of the id", found.len()),
    }
}

/// Says where a session stood and where it stands.
pub fn report(before: &Session, after: &Session, json: bool) -> Result<ExitCode> {
    if json {
        let mut out = raw_output();
        writeln!(out, "{}", serde_json::to_string(after)?)?;
        out.flush()?;
    } else {
        let mut out = output();
        let size = |session: &Session| {
            number(usize::try_from(session.tip.position()).unwrap_or(usize::MAX))
        };
        writeln!(out, "{}: {} → {} messages", plain(&after.id), size(before), size(after))?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}
