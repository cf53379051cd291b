//! `human_approval`: when a person is asked before a call. That somebody is asked at all does not hang on it: a list of middlewares
//! without it asks as usual.

use std::time::Duration;

use serde::Deserialize;

use super::Middleware;
use crate::approval::Mode;
use crate::config::AgentConfig;
use crate::error::AgentError;

/// Sets when a person is asked.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct HumanApproval {
    mode: Option<Mode>,
    /// Seconds an answer may take.
    timeout: Option<u64>,
}

impl Middleware for HumanApproval {
    fn name(&self) -> &'static str {
        "human_approval"
    }

    fn equip(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        if let Some(mode) = self.mode {
            config.approval.mode = mode;
        }
        if let Some(seconds) = self.timeout {
            config.approval.time = Duration::from_secs(seconds);
        }
        Ok(())
    }
}
