//! `shell_tool`: commands, on or off.

use serde::Deserialize;

use super::Middleware;
use crate::config::AgentConfig;
use crate::error::AgentError;

/// Lets commands be run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ShellTool {
    /// Switch it off.
    off: bool,
}

impl Middleware for ShellTool {
    fn name(&self) -> &'static str {
        "shell_tool"
    }

    fn equip(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        config.toolbox.switch("run_bash_command", !self.off)
    }
}
