//! `waterline sessions rename`.

use std::process::ExitCode;

use anyhow::Result;

use crate::db::Database;

/// Give a session another title
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The session's id, or the beginning of it
    id: String,
    /// The title
    title: String,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let mut session = log.find(&arguments.id)?;
    session.title.clone_from(&arguments.title);
    log.save(&session)?;
    Ok(ExitCode::SUCCESS)
}
