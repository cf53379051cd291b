//! The flags of a command with an agent, and the session they name.

use std::sync::Arc;

use anyhow::Result;
use waterline_agent::{Start, State};
use waterline_config::{Config, Overrides};
use waterline_log::{Log, Session};

use crate::arguments::AgentArguments;
use crate::db::Database;
use crate::environment::environment;
use crate::logging::LogArguments;

/// The flags that every command with an agent has after its own.
#[derive(Debug, clap::Args)]
pub struct Flags {
    #[command(flatten)]
    agent: AgentArguments,
    #[command(flatten)]
    logging: LogArguments,
    #[command(flatten)]
    pub database: Database,
}

impl Flags {
    /// Starts logging and reads the config.
    pub fn config(&self) -> Result<Config> {
        self.logging.start()?;
        Ok(Config::load(Arc::clone(environment()))?)
    }

    /// Returns the overrides for the flags and for the variables that count as flags.
    pub fn overrides(&self) -> Overrides {
        self.agent.overrides()
    }

    /// Whether the servers that the project's file names are trusted for this run.
    pub const fn trusts_project(&self) -> bool {
        self.agent.trust_project
    }
}

/// Returns the session that the flags name; `--resume` without an id is the latest one.
pub fn start(session: Option<&String>, resume: Option<&String>) -> Start {
    match (resume, session) {
        (Some(id), _) if id.is_empty() => Start::Latest,
        (Some(id), _) => Start::Resume(id.clone()),
        (None, Some(id)) => Start::Open(id.clone()),
        (None, None) => Start::New,
    }
}

/// Applies the preferences of the user that the flags name, else of the session's user, and the
/// model that the session prefers.
pub fn add_preferences(
    config: &mut Config,
    log: &Log,
    overrides: &Overrides,
    session: Option<&Session>,
) -> Result<()> {
    let owner = session.and_then(|session| session.user.as_deref());
    let user = overrides.user.as_deref().or(owner).unwrap_or_default();
    config.add_preferences(user, &log.preferences(user)?)?;
    let state = session.map(State::of).transpose()?;
    if let Some(model) = state.and_then(|state| state.model_pref) {
        config.add_session_model(&model);
    }
    Ok(())
}
