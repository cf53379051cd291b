//! `tool_selector`: the model is told of a few tools in full, and of the others only by name; it reaches these through
//! `call_tool`. The choice is made once, when a session begins, so that the list stays as it is.

use serde::Deserialize;

use super::Middleware;
use crate::config::AgentConfig;
use crate::error::AgentError;
use crate::state::Local;

/// What stands between a server and its tool in the name of a server's tool.
const OF_SERVER: &str = "__";

/// Selects tools.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ToolSelector {
    /// How many are told in full.
    max_tools: Option<usize>,
    /// Those that always are.
    always: Vec<String>,
}

impl Middleware for ToolSelector {
    fn name(&self) -> &'static str {
        "tool_selector"
    }

    fn equip(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        // A server that is away must not keep the program from starting, so its tools may be missing.
        let is_missing = |name: &&String| !name.contains(OF_SERVER) && config.toolbox.find(name).is_none();
        if let Some(name) = self.always.iter().find(is_missing) {
            let tiers = config.toolbox.tiers(&Local::default(), &[]);
            let names: Vec<&str> = tiers.iter().map(|(tool, _)| tool.name()).collect();
            let names = names.join(", ");
            return Err(AgentError::Setting(format!("tool_selector: no tool is called {name:?}; there are {names}")));
        }
        config.toolbox.tell_in_full(&self.always, self.max_tools.unwrap_or(12));
        Ok(())
    }
}
