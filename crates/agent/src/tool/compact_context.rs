//! `compact_context`: requests a fold before the next model call.

use schemars::JsonSchema;
use serde::Deserialize;
use waterline::reason::{Reason, Reasons};

use super::{Capability, Effect, Failure, Output, Tool, ToolContext};

#[derive(Debug)]
pub(super) struct CompactContext;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// Why the context should be compacted now. It is recorded with the compaction.
    #[serde(default)]
    reason: Option<String>,
}

impl Tool for CompactContext {
    type Arguments = Arguments;
    const NAME: &'static str = "compact_context";
    const ABOUT: &'static str = "\
        Compact the context: older messages are summarized before the next call. The originals \
        are kept and can be searched with `recall`. Use it when a part of the work is finished \
        and the context is getting full.";
    const CAPABILITY: Capability = Capability::Write;

    async fn run(&self, arguments: Arguments, _: &ToolContext) -> Result<Output, Failure> {
        let given = arguments.reason.filter(|reason| !reason.trim().is_empty());
        let mut reasons = Reasons::from(Reason::RequestedByModel);
        if let Some(given) = given {
            reasons.push(given);
        }
        Ok(Output::text("The context will be compacted before the next call.")
            .with(Effect::Fold(reasons)))
    }
}
