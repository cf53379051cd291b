//! `call_subagent`: delegates a task to a sub-agent with a separate context. Only its result is
//! returned.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Capability, Failure, Output, Tool, ToolContext};

/// The default for `max_loops`.
const DEFAULT_MAX_LOOPS: u64 = 10;

#[derive(Debug)]
pub(super) struct CallSubagent;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The task, with all the information the sub-agent needs. It cannot see this conversation.
    task: String,
    /// Maximum number of model calls it may make, from 1 to 100. Default: 10.
    #[serde(default = "default_max_loops")]
    max_loops: u64,
    /// Work in an empty private directory, without access to this one. Default: false.
    #[serde(default)]
    private: bool,
}

const fn default_max_loops() -> u64 {
    DEFAULT_MAX_LOOPS
}

impl Tool for CallSubagent {
    type Arguments = Arguments;
    const NAME: &'static str = "call_subagent";
    const ABOUT: &'static str = "\
        Delegate a task to a sub-agent that works in the same directory with a separate, empty \
        context. Returns JSON with `ok`, `result` or `error`, and the number of model calls \
        (`loops`); nothing else enters this conversation. Use it for long documents, multi-step \
        work, independent subtasks and experiments. Do not use it for single steps, for work that \
        depends on this conversation, or when speed matters.";
    const CAPABILITY: Capability = Capability::Delegate;

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        if arguments.task.trim().is_empty() {
            return Err(Failure::new("`task` must not be empty."));
        }
        let Arguments { task, max_loops, private } = arguments;
        let result = context.host.sub_agent(&task, max_loops.clamp(1, 100), private).await?;
        Ok(Output::text(result.to_string()))
    }
}
