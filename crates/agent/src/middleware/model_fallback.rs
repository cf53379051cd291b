//! `model_fallback`: models that are asked when the first one fails.

use serde::Deserialize;

use super::Middleware;
use crate::config::AgentConfig;
use crate::error::AgentError;

/// Names other models.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelFallback {
    models: Vec<String>,
}

impl Middleware for ModelFallback {
    fn name(&self) -> &'static str {
        "model_fallback"
    }

    fn equip(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        let found: Result<Vec<_>, String> = self.models.iter().map(|name| (config.models)(name)).collect();
        config.setup.fallback = found.map_err(|why| AgentError::Setting(format!("model_fallback: {why}")))?;
        Ok(())
    }
}
