//! `tool_retry`: a tool whose trouble may pass is run again.

use std::time::Duration;

use serde::Deserialize;

use super::Middleware;
use crate::config::AgentConfig;
use crate::error::AgentError;

/// Runs tools again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ToolRetry {
    /// Milliseconds to wait, one a try.
    waits: Vec<u64>,
}

impl Default for ToolRetry {
    fn default() -> Self {
        Self { waits: vec![500, 1_000, 2_000] }
    }
}

impl Middleware for ToolRetry {
    fn name(&self) -> &'static str {
        "tool_retry"
    }

    fn equip(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        config.tool_waits = self.waits.iter().copied().map(Duration::from_millis).collect();
        Ok(())
    }
}
