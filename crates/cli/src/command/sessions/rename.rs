//! `waterline sessions rename`.

use std::process::ExitCode;

use anyhow::Result;

use crate::db::Database;

/// Change the title of a session
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session (id or unique prefix)
    id: String,
    /// New title
    title: String,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let mut session = log.find(&arguments.id)?;
    session.title.clone_from(&arguments.title);
    log.save(&session)?;
    Ok(ExitCode::SUCCESS)
}
