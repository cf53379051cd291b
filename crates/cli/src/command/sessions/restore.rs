//! `waterline sessions restore`.

use std::process::ExitCode;

use anyhow::{Result, bail};

use super::rewind::report;
use crate::checkpoints::restore;
use crate::db::Database;
use crate::text;

/// Restore the messages and the state of a checkpoint; later messages are kept
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session (id or unique prefix)
    id: String,
    /// Number of the checkpoint (see `waterline sessions checkpoints`)
    checkpoint: String,
    /// Print the session as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let before = log.find(&arguments.id)?;
    match restore(&log, &before.id, &arguments.checkpoint)? {
        Some(after) => report(&before, &after, arguments.json),
        None => bail!(text!("checkpoint-unknown", id = arguments.checkpoint.as_str())),
    }
}
