//! `tool_emulator`: tools that are not run but only answered, to try an agent without consequences.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{HookContext, Hooked, Middleware, SyntheticResult, Verdict};

/// Answers in the place of tools.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolEmulator {
    /// What each tool is said to have answered; `*` stands for any other.
    results: BTreeMap<String, String>,
}

impl Middleware for ToolEmulator {
    fn name(&self) -> &'static str {
        "tool_emulator"
    }

    fn before_tools(&self, context: &mut HookContext<'_>) -> Hooked {
        for call in context.calls {
            if let Some(text) = self.results.get(&call.name).or_else(|| self.results.get("*")) {
                context.instead.insert(call.id.clone(), SyntheticResult::result(text));
            }
        }
        Ok(Verdict::Ok)
    }
}
