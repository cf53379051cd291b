//! The middlewares of an agent, in their order. A hook that fails is shown and counted, and the
//! turn goes on without it.

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

    fn ask(self, middleware: &dyn Middleware, context: &mut HookContext<'_>) -> Hooked {
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

/// What the hooks want together.
#[derive(Debug)]
pub(crate) struct HookOutcome {
    /// The first verdict that changes the way; those behind it were not asked.
    pub(crate) verdict: Verdict,
    /// Whether the state is to be stored.
    pub(crate) changed: bool,
    /// Hooks that failed.
    pub(crate) failed: Vec<Event>,
}

/// The middlewares of an agent.
#[derive(Clone, Default)]
pub(crate) struct Chain(Vec<Arc<dyn Middleware>>);

impl Chain {
    pub(crate) fn new(mut middlewares: Vec<Arc<dyn Middleware>>) -> Self {
        // Those of the same priority stay in the order they were named.
        middlewares.sort_by_key(|middleware| middleware.priority());
        Self(middlewares)
    }

    pub(crate) fn ask(&self, hook: Hook, context: &mut HookContext<'_>) -> HookOutcome {
        let mut heard = HookOutcome { verdict: Verdict::Ok, changed: false, failed: Vec::new() };
        for middleware in &self.0 {
            match hook.ask(&**middleware, context) {
                Ok(Verdict::Ok) => {}
                Ok(Verdict::Update) => heard.changed = true,
                // It has the word that it wanted; those behind it are asked too.
                Ok(Verdict::Interrupt(request))
                    if context.replies.contains_key(&request.call_id) => {}
                Ok(verdict) => {
                    heard.verdict = verdict;
                    break;
                }
                Err(why) => {
                    heard.failed.push(Event::HookFailed {
                        middleware: middleware.name(),
                        hook: hook.name(),
                        why,
                    });
                }
            }
        }
        heard
    }
}
