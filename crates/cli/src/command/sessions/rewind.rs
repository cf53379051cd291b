//! `waterline sessions rewind`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline_log::{Session, To};

use super::json_of;
use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::plain;

/// Go back in a session; what comes after is kept
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The session's id, or the beginning of it
    id: String,
    #[command(flatten)]
    to: Place,
    /// One JSON object: the session as it is now
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Place {
    /// To where it was after its first N messages
    #[arg(long, value_name = "N")]
    to: Option<u64>,
    /// By N messages
    #[arg(long, value_name = "N")]
    by: Option<u64>,
    /// By N turns: to before the user message that opened the last of them
    #[arg(long, value_name = "N")]
    turns: Option<u64>,
    /// To the message of this id
    #[arg(long, value_name = "ID")]
    message: Option<String>,
}

impl Place {
    fn place(&self) -> Result<To> {
        Ok(match self {
            Self { to: Some(position), .. } => To::Position(*position),
            Self { by: Some(count), .. } => To::Messages(*count),
            Self { turns: Some(count), .. } => To::Turns(*count),
            Self { message: Some(id), .. } => To::Message(id.parse()?),
            _ => To::Messages(0),
        })
    }
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let before = log.find(&arguments.id)?;
    let after = log.rewind(&before.id, arguments.to.place()?)?;
    report(&before, &after, arguments.json)
}

/// Says where a session stood and where it stands.
pub fn report(before: &Session, after: &Session, json: bool) -> Result<ExitCode> {
    if json {
        let mut out = raw_output();
        writeln!(out, "{}", json_of(after))?;
        out.flush()?;
    } else {
        let mut out = output();
        let (from, to) = (before.tip.position(), after.tip.position());
        writeln!(out, "{}: {from} → {to} messages", plain(&after.id))?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}
