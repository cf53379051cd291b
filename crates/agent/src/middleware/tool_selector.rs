//! `tool_selector`: the model is told of a few tools in full, and of the others only by name; it reaches these through
//! `call_tool`. The choice is made once, when a session begins, so that the list stays as it is.

use serde::Deserialize;

use super::Middleware;
use crate::equipment::Equipment;
use crate::error::AgentError;

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

    fn equip(&self, equipment: &mut Equipment) -> Result<(), AgentError> {
        equipment.toolbox.tell_in_full(&self.always, self.max_tools.unwrap_or(12));
        Ok(())
    }
}
