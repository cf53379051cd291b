//! `context_editing`: old results of tools are cleared when the context gets long.

use serde::Deserialize;
use waterline::policy::Policy;

use super::Middleware;
use crate::config::AgentConfig;
use crate::error::AgentError;

/// Clears old results.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ContextEditing {
    /// Tokens from which on.
    trigger: u64,
    /// How many of the newest results stay.
    keep: u64,
}

impl Default for ContextEditing {
    fn default() -> Self {
        Self { trigger: 100_000, keep: 3 }
    }
}

impl Middleware for ContextEditing {
    fn name(&self) -> &'static str {
        "context_editing"
    }

    fn equip(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        let settings =
            [("fold.high".to_owned(), self.trigger.to_string()), ("clear.keep".to_owned(), self.keep.to_string())];
        let policy = Policy::preset_with("clear-tools", &settings);
        config.policies.made = Some(policy.map_err(|error| AgentError::Setting(format!("context_editing: {error}")))?);
        Ok(())
    }
}
