//! `waterline sessions redo`.

use std::process::ExitCode;

use anyhow::Result;

use super::rewind::report;
use crate::db::Database;
use crate::moved_files::FileArguments;

/// Restore what the last rewind removed
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session (id or unique prefix)
    id: String,
    /// Go forward by N messages (default: as far as possible)
    #[arg(long, value_name = "N")]
    by: Option<u64>,
    #[command(flatten)]
    files: FileArguments,
    /// Print the session as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let before = log.find(&arguments.id)?;
    let redo = || Ok(log.forward(&before.id, arguments.by)?);
    let after = arguments.files.move_session(&log, &before, redo)?;
    report(&log, &before, &after, arguments.json)
}
