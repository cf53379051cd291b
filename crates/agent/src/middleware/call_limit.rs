//! `call_limit`: limits model calls per turn and since the session was opened, and tool calls per
//! turn.

use serde::Deserialize;

use super::{HookContext, Hooked, Middleware, Verdict};

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
        let limits = [
            (self.turn, context.counters.steps, "model calls in this turn"),
            (self.run, context.counters.iterations, "model calls since the session was opened"),
            (self.tools, context.counters.tool_calls, "tool calls in this turn"),
        ];
        let reached =
            limits.into_iter().find(|(most, made, _)| most.is_some_and(|most| *made >= most));
        Ok(reached.map_or(Verdict::Ok, |(_, made, what)| {
            Verdict::Halt(format!(
                "the limit of the middleware call_limit was reached ({what}: {made})"
            ))
        }))
    }
}
