//! `waterline sessions fork`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;

use crate::db::Database;
use crate::input::raw_output;

/// Go on from a message of a session in a new one
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The session's id, or the beginning of it
    id: String,
    /// Go on after its first N messages (default: all)
    #[arg(long, value_name = "N")]
    at: Option<u64>,
    /// The new session's id (default: a new one)
    #[arg(long = "as", value_name = "ID")]
    name: Option<String>,
    /// One JSON object: the new session
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let session = log.find(&arguments.id)?;
    let fork = log.fork(&session.id, arguments.at, arguments.name.clone())?;
    let mut out = raw_output();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string(&fork)?)?;
    } else {
        writeln!(out, "{}", fork.id)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
