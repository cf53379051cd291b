//! `waterline sessions fork`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;

use crate::db::Database;
use crate::input::raw_output;

/// Fork a session: start a new session with all of its messages, or the first N
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session to fork (id or unique prefix)
    id: String,
    /// Only the first N messages (default: all)
    #[arg(long, value_name = "N")]
    at: Option<u64>,
    /// Id of the new session (default: generated)
    #[arg(long = "as", value_name = "ID")]
    name: Option<String>,
    /// Print the new session as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let session = log.find(&arguments.id)?;
    let numbering = log.numbering(&session)?;
    let at = arguments.at.map(|number| numbering.position(number));
    let fork = log.fork(&session.id, at, arguments.name.clone())?;
    let mut out = raw_output();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string(&fork)?)?;
    } else {
        writeln!(out, "{}", fork.id)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
