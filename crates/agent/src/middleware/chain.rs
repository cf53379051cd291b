//! The middlewares of an agent, in order of priority. A hook that fails is reported and counted,
//! and the turn continues without it.

use std::sync::Arc;

use super::{HookContext, Hooked, Middleware, Verdict};
use crate::event::Event;

/// One of the six hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    BeforeAgent,
    AfterAgent,
    BeforeModel,
    AfterModel,
    BeforeTools,
    AfterTools,
}

impl Hook {
    const fn name(self) -> &'static str {
        match self {
            Self::BeforeAgent => "before_agent",
            Self::AfterAgent => "after_agent",
            Self::BeforeModel => "before_model",
            Self::AfterModel => "after_model",
            Self::BeforeTools => "before_tools",
            Self::AfterTools => "after_tools",
        }
    }

    fn call(self, middleware: &dyn Middleware, context: &mut HookContext<'_>) -> Hooked {
        match self {
            Self::BeforeAgent => middleware.before_agent(context),
            Self::AfterAgent => middleware.after_agent(context),
            Self::BeforeModel => middleware.before_model(context),
            Self::AfterModel => middleware.after_model(context),
            Self::BeforeTools => middleware.before_tools(context),
            Self::AfterTools => middleware.after_tools(context),
        }
    }
}

/// The combined outcome of one hook of every middleware.
#[derive(Debug)]
pub(crate) struct HookOutcome {
    /// The first verdict that redirects the turn; later middlewares were not called.
    pub(crate) verdict: Verdict,
    /// Whether a middleware changed the state.
    pub(crate) changed: bool,
    /// An event for each hook that failed.
    pub(crate) failed: Vec<Event>,
}

/// The middlewares of an agent.
#[derive(Clone, Default)]
pub(crate) struct Chain(Vec<Arc<dyn Middleware>>);

impl Chain {
    pub(crate) fn new(mut middlewares: Vec<Arc<dyn Middleware>>) -> Self {
        // The sort is stable: equal priorities stay in the configured order.
        middlewares.sort_by_key(|middleware| middleware.priority());
        Self(middlewares)
    }

    pub(crate) fn call(&self, hook: Hook, context: &mut HookContext<'_>) -> HookOutcome {
        let mut outcome = HookOutcome { verdict: Verdict::Ok, changed: false, failed: Vec::new() };
        for middleware in &self.0 {
            match hook.call(&**middleware, context) {
                Ok(Verdict::Ok) => {}
                Ok(Verdict::Update) => outcome.changed = true,
                // It already has the reply it requires; the next middleware is called.
                Ok(Verdict::Interrupt(request))
                    if context.replies.contains_key(&request.call_id) => {}
                Ok(verdict) => {
                    outcome.verdict = verdict;
                    break;
                }
                Err(why) => {
                    outcome.failed.push(Event::HookFailed {
                        middleware: middleware.name(),
                        hook: hook.name(),
                        why,
                    });
                }
            }
        }
        outcome
    }
}
