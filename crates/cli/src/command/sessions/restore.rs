//! `waterline sessions restore`.

use std::process::ExitCode;

use anyhow::{Context, Result};

use super::rewind::report;
use crate::checkpoints::restore;
use crate::db::Database;
use crate::moved_files::FileArguments;
use crate::text;

/// Restore the messages and the state of a checkpoint; later messages are kept
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session (id or unique prefix)
    id: String,
    /// Number of the checkpoint (see `waterline sessions checkpoints`)
    checkpoint: String,
    #[command(flatten)]
    files: FileArguments,
    /// Print the session as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let before = log.find(&arguments.id)?;
    let restored = || {
        let after = restore(&log, &before.id, &arguments.checkpoint)?;
        after.with_context(|| text!("checkpoint-unknown", id = arguments.checkpoint.as_str()))
    };
    let after = arguments.files.move_session(&log, &before, restored)?;
    report(&log, &before, &after, arguments.json)
}
