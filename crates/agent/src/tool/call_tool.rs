//! `call_tool`: a tool that is not in the list. The list never changes inside a session, so that
//! the provider's cache holds; what comes to it later is reached through this one.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Capability, Failure, Output, Tool, ToolContext};

/// Its name.
pub const NAME: &str = "call_tool";

/// Calls another tool.
#[derive(Debug)]
pub(super) struct CallTool;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The tool, as it was named to you.
    #[expect(dead_code, reason = "the agent reads it before the call comes here")]
    name: String,
    /// Its arguments.
    #[serde(default)]
    #[expect(dead_code, reason = "the agent reads it before the call comes here")]
    arguments: Value,
}

impl Tool for CallTool {
    type Arguments = Arguments;
    const NAME: &'static str = NAME;
    const ABOUT: &'static str = "Call a tool that is not in this list but was named to you in the conversation, with its arguments.";
    const CAPABILITY: Capability = Capability::Network;

    /// The agent looks through this tool to the one that is meant; what comes here names none.
    async fn run(&self, _: Arguments, _: &ToolContext) -> Result<Output, Failure> {
        Err(Failure::new("no tool is named"))
    }
}
