//! `call_subagent`: a task for an agent of its own, with a context of its own. Only its result
//! comes back.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Capability, Failure, Output, Tool, ToolContext};

/// How many loops a sub-agent may make if the call does not say.
const LOOPS: u64 = 10;

/// Starts sub-agents.
#[derive(Debug)]
pub(super) struct CallSubagent;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The task, with everything the sub-agent must know: it sees nothing of this conversation.
    task: String,
    /// How many model calls it may make.
    #[serde(default = "loops")]
    max_loops: u64,
}

const fn loops() -> u64 {
    LOOPS
}

impl Tool for CallSubagent {
    type Arguments = Arguments;
    const NAME: &'static str = "call_subagent";
    const ABOUT: &'static str = "Give a task to a sub-agent with a context of its own; only its result comes back. Good for long documents, work \
        of many steps, independent parts and experiments. Not for single steps, for what needs this conversation, or what must be quick.";
    const CAPABILITY: Capability = Capability::Delegate;

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        if arguments.task.trim().is_empty() {
            return Err(Failure::new("the task is empty"));
        }
        let result =
            context.host.sub_agent(&arguments.task, arguments.max_loops.clamp(1, 100)).await?;
        Ok(Output::text(result.to_string()))
    }
}
