//! `call_tool`: calls a tool that is not in the tool list. The list never changes within a session,
//! so that the provider's cache stays valid; tools that are added later are reached through this
//! one.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Capability, Failure, Output, Tool, ToolContext};

/// The name of the tool that forwards calls to other tools.
pub const NAME: &str = "call_tool";

#[derive(Debug)]
pub(super) struct CallTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The name of the tool to call.
    #[expect(dead_code, reason = "the agent resolves the call before it reaches this tool")]
    name: String,
    /// The arguments of that tool, as a JSON object.
    #[serde(default)]
    #[expect(dead_code, reason = "the agent resolves the call before it reaches this tool")]
    arguments: Value,
}

impl Tool for CallTool {
    type Arguments = Arguments;
    const NAME: &'static str = NAME;
    const ABOUT: &'static str = "\
        Call a tool that is not in the tool list but is described in the system prompt or in the \
        conversation. Returns the result of that tool.";
    const CAPABILITY: Capability = Capability::Network;

    /// The agent replaces a call of this tool with the call it names; only a call that names no
    /// tool gets here.
    async fn run(&self, _: Arguments, _: &ToolContext) -> Result<Output, Failure> {
        Err(Failure::new("`name` must be the name of a tool."))
    }
}
