//! `compact_context`: the model asks for room.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Capability, Effect, Failure, Output, Tool, ToolContext};

/// Asks for a fold.
#[derive(Debug)]
pub(super) struct CompactContext;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// Why.
    #[serde(default)]
    reason: Option<String>,
}

impl Tool for CompactContext {
    type Arguments = Arguments;
    const NAME: &'static str = "compact_context";
    const ABOUT: &'static str = "Make room in the context: what is older is summed up. Nothing is lost: recall finds it. Use it when a part of \
        the work is finished and the context is getting full.";
    const CAPABILITY: Capability = Capability::Write;

    async fn run(&self, arguments: Arguments, _: &ToolContext) -> Result<Output, Failure> {
        let reason = arguments.reason.filter(|reason| !reason.trim().is_empty());
        let reason = reason.map_or_else(
            || "the model asked for it".to_owned(),
            |reason| format!("the model asked for it: {reason}"),
        );
        Ok(Output::text("the context is folded before the next call").with(Effect::Fold(reason)))
    }
}
