//! `waterline sessions clean`.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use waterline_agent::expiry::{self, SESSION_DAYS, before};
use waterline_config::{Config, DEFAULT_WORKSPACE_DAYS, workspaces};
use waterline_log::EraseTarget;

use super::erase::erase;
use crate::db::Database;
use crate::environment::environment;
use crate::text;

/// Delete idle sessions and old workspaces; without --yes, only list them
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Delete sessions idle for this many days (default: agent.session_days in the config, else 30)
    #[arg(long, value_name = "DAYS")]
    idle: Option<u32>,
    /// Delete workspaces of sessions idle for this many days (default: agent.workspace_days in the
    /// config, else 7)
    #[arg(long, value_name = "DAYS")]
    workspaces: Option<u32>,
    /// Delete, instead of only listing
    #[arg(long)]
    yes: bool,
    /// Print one JSON object
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
    let parent = workspaces(&config).unwrap_or_default();
    let log = database.open_existing()?;
    let whom = EraseTarget::IdleSince(before(&log, idle));
    let erased = log.would_erase(&whom)?.sessions;
    let workspaces = expiry::old(&log, None, before(&log, unused), &erased, parent)?;
    let is_clean = erased.is_empty() && workspaces.expired.is_empty() && workspaces.kept.is_empty();
    if is_clean && !arguments.json {
        anstream::println!("{}", text!("chat-clean-nothing"));
        return Ok(ExitCode::SUCCESS);
    }
    erase(&log, &whom, &workspaces, arguments.yes, arguments.json)
}
