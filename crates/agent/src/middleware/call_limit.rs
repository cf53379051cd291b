//! `call_limit`: limits model calls per turn and since the session was opened, and tool calls per
//! turn.

use serde::Deserialize;

use super::{HookContext, Hooked, Middleware, Verdict};
use crate::reason::EndReason;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CallLimit {
    /// Maximum number of model calls per turn.
    turn: Option<usize>,
    /// Maximum number of model calls since the session was opened.
    run: Option<usize>,
    /// Maximum number of tool calls per turn.
    tools: Option<usize>,
}

impl Middleware for CallLimit {
    fn name(&self) -> &'static str {
        "call_limit"
    }

    fn priority(&self) -> i32 {
        10
    }

    fn before_model(&self, context: &mut HookContext<'_>) -> Hooked {
        let counters = context.counters;
        let reached = |most: Option<usize>, made: usize| most.is_some_and(|most| made >= most);
        let why = if reached(self.turn, counters.steps) {
            EndReason::TurnCalls(counters.steps as u64)
        } else if reached(self.run, counters.iterations) {
            EndReason::SessionCalls(counters.iterations as u64)
        } else if reached(self.tools, counters.tool_calls) {
            EndReason::ToolCalls(counters.tool_calls as u64)
        } else {
            return Ok(Verdict::Ok);
        };
        Ok(Verdict::Halt(why))
    }
}
