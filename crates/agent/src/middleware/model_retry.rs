//! `model_retry`: when a model is asked again.

use std::time::Duration;

use serde::Deserialize;

use super::Middleware;
use crate::config::AgentConfig;
use crate::error::AgentError;

/// Asks again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ModelRetry {
    /// Seconds to wait when there were too many requests, one a try.
    rate_limit: Vec<u64>,
    /// Seconds to wait after other trouble that may pass.
    transient: Vec<u64>,
}

impl Default for ModelRetry {
    fn default() -> Self {
        Self { rate_limit: vec![30, 45, 60], transient: vec![2, 4, 6] }
    }
}

impl Middleware for ModelRetry {
    fn name(&self) -> &'static str {
        "model_retry"
    }

    fn equip(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        let waits = |seconds: &[u64]| seconds.iter().copied().map(Duration::from_secs).collect();
        config.setup.retry.rate_limit = waits(&self.rate_limit);
        config.setup.retry.transient = waits(&self.transient);
        Ok(())
    }
}
