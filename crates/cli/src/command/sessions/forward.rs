//! `waterline sessions forward`.

use std::process::ExitCode;

use anyhow::Result;

use super::rewind::report;
use crate::db::Database;

/// Go on to what a rewind left
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The session's id, or the beginning of it
    id: String,
    /// By N messages (default: as far as it was)
    #[arg(long, value_name = "N")]
    by: Option<u64>,
    /// One JSON object: the session as it is now
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let before = log.find(&arguments.id)?;
    let after = log.forward(&before.id, arguments.by)?;
    report(&before, &after, arguments.json)
}
