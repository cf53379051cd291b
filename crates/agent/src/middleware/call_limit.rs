//! `call_limit`: so many model calls in a turn, since the session was opened, or tool calls in a
//! turn, and no more.

use serde::Deserialize;

use super::{HookContext, Hooked, Middleware, Verdict};

/// Limits calls.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CallLimit {
    /// Model calls in one turn.
    turn: Option<usize>,
    /// Model calls since the session was opened.
    run: Option<usize>,
    /// Tool calls in one turn.
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
        let limits = [
            (self.turn, context.counters.steps, "model calls in this turn"),
            (self.run, context.counters.iterations, "model calls since the session was opened"),
            (self.tools, context.counters.tool_calls, "tool calls in this turn"),
        ];
        let over =
            limits.into_iter().find(|(most, made, _)| most.is_some_and(|most| *made >= most));
        Ok(over.map_or(Verdict::Ok, |(_, made, what)| {
            Verdict::Halt(format!("{made} {what}, as many as call_limit allows"))
        }))
    }
}
