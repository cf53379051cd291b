//! `waterline sessions clean`: what nobody has used for long.

use std::process::ExitCode;

use anyhow::Result;
use waterline_log::{Filter, Whom};

use super::erase::carry_out;
use crate::db::Database;
use crate::workspace;

const DAY: i64 = 86_400_000;

/// Delete sessions that nobody has used for long, and old workspaces. Without `--yes` it only says what would go
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Sessions not used for so many days
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    idle: u32,
    /// Workspaces of sessions not used for so many days
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    workspaces: u32,
    /// Do it
    #[arg(long)]
    yes: bool,
    /// One JSON object: what went, or would go
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let before = |days: u32| log.now() - i64::from(days) * DAY;
    let idle = log.sessions(&Filter { idle_since: Some(before(arguments.workspaces)), ..Filter::default() })?;
    let idle: Vec<String> = idle.into_iter().map(|session| session.id).collect();
    let folders = workspace::of(&log, &idle)?;
    carry_out(&log, &Whom::IdleSince(before(arguments.idle)), &folders, arguments.yes, arguments.json)
}
