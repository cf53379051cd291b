//! `waterline sessions rewind`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use waterline_log::{Id, Log, RewindTarget, Session};

use crate::db::Database;
use crate::input::{output, raw_output};
use crate::moved_files::FileArguments;
use crate::show::plain;
use crate::text;

/// Go back in a session; later messages are kept
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session (id or unique prefix)
    id: String,
    #[command(flatten)]
    to: Location,
    #[command(flatten)]
    files: FileArguments,
    /// Print the session as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Location {
    /// Rewind to the first N messages
    #[arg(long, value_name = "N")]
    to: Option<u64>,
    /// Rewind by N messages
    #[arg(long, value_name = "N")]
    by: Option<u64>,
    /// Rewind N turns, to just before the user message that started the earliest of them
    #[arg(long, value_name = "N")]
    turns: Option<u64>,
    /// Rewind to this message (id or unique prefix)
    #[arg(long, value_name = "ID")]
    message: Option<String>,
}

impl Location {
    fn target(&self, log: &Log, session: &Session) -> Result<RewindTarget> {
        Ok(match self {
            Self { to: Some(number), .. } => {
                RewindTarget::Position(log.numbering(session)?.position(*number))
            }
            Self { by: Some(count), .. } => RewindTarget::Messages(*count),
            Self { turns: Some(count), .. } => RewindTarget::Turns(*count),
            Self { message: Some(id), .. } => RewindTarget::Message(message(log, session, id)?),
            _ => RewindTarget::Messages(0),
        })
    }
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let before = log.find(&arguments.id)?;
    let target = arguments.to.target(&log, &before)?;
    let after =
        arguments.files.move_session(&log, &before, || Ok(log.rewind(&before.id, target)?))?;
    report(&log, &before, &after, arguments.json)
}

/// Finds the message of a session by a prefix of its id.
fn message(log: &Log, session: &Session, prefix: &str) -> Result<Id> {
    let mut found = Vec::new();
    log.each(session.tip, 0..session.tip.position(), |entry| {
        found.extend(Some(entry.id).filter(|id| id.to_string().starts_with(prefix)));
        Ok(())
    })?;
    match found.as_slice() {
        [id] => Ok(*id),
        [] => {
            let session = session.id.as_str();
            bail!(text!("rewind-no-message", session = session, prefix = prefix))
        }
        several => bail!(text!("rewind-ambiguous", prefix = prefix, count = several.len())),
    }
}

/// Reports the length of a session before and after.
pub fn report(log: &Log, before: &Session, after: &Session, json: bool) -> Result<ExitCode> {
    if json {
        let mut out = raw_output();
        writeln!(out, "{}", serde_json::to_string(after)?)?;
        out.flush()?;
    } else {
        let mut out = output();
        let line = text!(
            "rewind-done",
            id = plain(&after.id),
            before = log.numbering(before)?.count(before.tip.position()),
            after = log.numbering(after)?.count(after.tip.position())
        );
        writeln!(out, "{line}")?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}
