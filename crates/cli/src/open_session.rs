//! How a command with an agent begins: its flags, and which session they name.

use std::sync::Arc;

use anyhow::Result;
use waterline_agent::Start;
use waterline_config::{Config, Overrides};

use crate::arguments::AgentArguments;
use crate::db::Database;
use crate::environment::environment;
use crate::lang;
use crate::logging::LogArguments;

/// The flags of every command with an agent, behind its own.
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
    /// Begins to log, reads the config, and chooses the language.
    pub fn config(&self) -> Result<Config> {
        self.logging.begin()?;
        let config = Config::load(Arc::clone(environment()))?;
        lang::choose(self.agent.lang, config.settings.lang);
        Ok(config)
    }

    /// What the flags set, with the variables that count as flags.
    pub fn overrides(&self) -> Overrides {
        self.agent.overrides()
    }

    /// Whether the addresses of the project's file are approved for this run.
    pub const fn trusts_project(&self) -> bool {
        self.agent.trust_project
    }
}

/// The session that flags name: `--resume` without an id is the one used last.
pub fn start(session: Option<&String>, resume: Option<&String>) -> Start {
    match (resume, session) {
        (Some(id), _) if id.is_empty() => Start::Latest,
        (Some(id), _) => Start::Resume(id.clone()),
        (None, Some(id)) => Start::Open(id.clone()),
        (None, None) => Start::New,
    }
}
