//! `describe_tool`: returns the description and the arguments of a tool that the system prompt only
//! names. It is enabled if the definitions of servers' tools do not fit into the tool list.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Capability, Failure, Output, Tool, ToolContext};

/// The name of the tool that describes other tools.
pub(super) const NAME: &str = "describe_tool";

#[derive(Debug)]
pub(super) struct DescribeTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The name of the tool.
    name: String,
}

impl Tool for DescribeTool {
    type Arguments = Arguments;
    const NAME: &'static str = NAME;
    const ABOUT: &'static str = "\
        Return the full description and argument schema of a tool that the system prompt lists \
        only briefly. Then call it with call_tool.";
    const CAPABILITY: Capability = Capability::Read;
    const ENABLED_BY_DEFAULT: bool = false;

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        context.host.describe_tool(&arguments.name).map(Output::text)
    }
}
