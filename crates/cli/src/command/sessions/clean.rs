//! `waterline sessions clean`: what nobody has used for long.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use waterline_agent::expiry::{self, SESSION_DAYS, before};
use waterline_config::{Config, DEFAULT_WORKSPACE_DAYS, workspaces};
use waterline_log::Whom;

use super::erase::carry_out;
use crate::db::Database;
use crate::environment::environment;

/// Delete sessions that nobody has used for long, and old workspaces. Without `--yes` it only says
/// what would go
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Sessions not used for so many days (default: agent.session_days of the config, else 30)
    #[arg(long, value_name = "DAYS")]
    idle: Option<u32>,
    /// Workspaces of sessions not used for so many days (default: agent.workspace_days of the
    /// config, else 7)
    #[arg(long, value_name = "DAYS")]
    workspaces: Option<u32>,
    /// Do it
    #[arg(long)]
    yes: bool,
    /// One JSON object: what went, or would go
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let config = Config::load(Arc::clone(environment()))?;
    let agent = &config.settings.agent;
    let idle = arguments.idle.map(u64::from).or(agent.session_days).unwrap_or(SESSION_DAYS);
    let unused = arguments
        .workspaces
        .map(u64::from)
        .or(agent.workspace_days)
        .unwrap_or(DEFAULT_WORKSPACE_DAYS);
    let place = workspaces(&config).unwrap_or_default();
    let log = database.open_existing()?;
    let whom = Whom::IdleSince(before(&log, idle));
    let erased = log.would_erase(&whom)?.sessions;
    let folders = expiry::old(&log, None, before(&log, unused), &erased, place)?;
    carry_out(&log, &whom, &folders, arguments.yes, arguments.json)
}
