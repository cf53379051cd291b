//! `tool_emulator`: answers calls with fixed results instead of running them, for dry runs.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{HookContext, Hooked, Middleware, SyntheticResult, Verdict};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolEmulator {
    /// The result of each tool, by name; `*` matches any other tool.
    results: BTreeMap<String, String>,
}

impl Middleware for ToolEmulator {
    fn name(&self) -> &'static str {
        "tool_emulator"
    }

    fn before_tools(&self, context: &mut HookContext<'_>) -> Hooked {
        for call in context.calls {
            if let Some(text) = self.results.get(&call.name).or_else(|| self.results.get("*")) {
                context.synthetic.insert(call.id.clone(), SyntheticResult::result(text));
            }
        }
        Ok(Verdict::Ok)
    }
}
