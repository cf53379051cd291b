//! `call_subagent`: delegates a task to a sub-agent with a separate context. Only its result is
//! returned.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Capability, Failure, Output, Tool, ToolContext};

/// Enough for a task of a few steps.
const DEFAULT_MAX_MODEL_CALLS: u64 = 10;

#[derive(Debug)]
pub(super) struct CallSubagent;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The task, with all the information the sub-agent needs. It cannot see this conversation.
    task: String,
    /// Maximum number of model calls it may make, from 1 to 100. Default: 10.
    #[serde(default = "default_max_model_calls", alias = "max_loops")]
    max_model_calls: u64,
    /// Work in an empty private directory, without access to this one. Default: false.
    #[serde(default)]
    private: bool,
}

const fn default_max_model_calls() -> u64 {
    DEFAULT_MAX_MODEL_CALLS
}

impl Tool for CallSubagent {
    type Arguments = Arguments;
    const NAME: &'static str = "call_subagent";
    const ABOUT: &'static str = "\
        Delegate a task to a sub-agent that works in the same directory with a separate, empty \
        context. Returns JSON: `ok`, `result` or `error`, `context_id`, and `model_calls`; nothing \
        else enters this conversation. Use it for long documents, multi-step work, independent \
        subtasks and experiments. Do not use it for single steps, for work that depends on this \
        conversation, or when speed matters.";
    const CAPABILITY: Capability = Capability::Delegate;

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        if arguments.task.trim().is_empty() {
            return Err(Failure::new("`task` must not be empty."));
        }
        let Arguments { task, max_model_calls, private } = arguments;
        let max_model_calls = max_model_calls.clamp(1, 100);
        let result = context.host.sub_agent(&task, max_model_calls, private).await?;
        Ok(Output::text(result.to_string()))
    }
}
