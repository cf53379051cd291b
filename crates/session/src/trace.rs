//! Tracing events for folds, calls and retries. Attribute names of calls follow OpenTelemetry's
//! conventions for generative AI. Events never contain message text.

use std::time::Duration;

use tracing::{Span, field};
use waterline::message::Role;
use waterline::plan::{Figures, Plan, Slot, Treatment};
use waterline_log::{Fold, Usage as Recorded};
use waterline_provider::CallError;
use waterline_provider::answer::Answer;

use crate::live::LiveSession;

/// Reports a fold, with the figures of S3.40 to S3.47. All of them are on the provider's scale.
/// System prompt and tool definitions are sent with every call and leave the rest of the window to
/// the conversation; the budgets are shares of that rest. Messages are counted without the system
/// prompt.
pub(crate) fn folded(live: &LiveSession, plan: &Plan, fold: &Fold) {
    let policy = live.policy();
    let real = |tokens: usize| live.corrected(tokens);
    let parts = Parts::of(live, &plan.slots);
    let tools = real(live.budget.tools);
    let whole = live.budget.model_window;
    let usable = policy.fold.target.of(whole).min(live.budget.window);
    let available = usable.saturating_sub(parts.system + tools);
    let budget = |key: &str| policy.size(key).map_or(0, |size| size.of(available));
    // The history and what is left of it, both without the system prompt.
    let mut conversation = Figures::default();
    conversation.history = real(live.history.tokens().saturating_sub(live.history.system_tokens()));
    conversation.context = parts.recent;
    tracing::info!(
        target: "waterline::context",
        session = %live.session.id,
        policy = %policy.name,
        generation = live.generation.number + 1,
        reason = %fold.reasons,
        window = whole,
        usable,
        system = parts.system,
        tools,
        available,
        messages = live.history.len() - parts.systems,
        tokens = conversation.history,
        summary_budget = budget("summarise.max"),
        recent_budget = budget("window.tokens"),
        summary = parts.summary,
        recent = parts.recent,
        reduction = conversation.reduction(),
        shown = parts.shown,
        before = fold.tokens_before,
        total = parts.total() + tools,
        "context folded"
    );
}

/// The parts of a context, in the provider's tokens.
#[derive(Default)]
struct Parts {
    system: usize,
    summary: usize,
    recent: usize,
    /// The number of system messages.
    systems: usize,
    /// The number of other messages that are sent.
    shown: usize,
}

impl Parts {
    fn of(live: &LiveSession, slots: &[Slot]) -> Self {
        let mut parts = Self::default();
        for slot in slots {
            let tokens = live.corrected(slot.tokens);
            let first = slot.views.first().and_then(|view| view.message(&live.history));
            let is_system = first.is_some_and(|message| message.role == Role::System);
            match slot.treatment {
                Treatment::Summary => parts.summary += tokens,
                _ if is_system => {
                    parts.system += tokens;
                    parts.systems += slot.sources.len();
                }
                sent if sent.is_sent() => {
                    parts.recent += tokens;
                    parts.shown += slot.sources.len();
                }
                _ => {}
            }
        }
        parts
    }

    /// The whole context without the tool definitions.
    const fn total(&self) -> usize {
        self.system + self.summary + self.recent
    }
}

/// Reports a notice for the user.
pub(crate) fn notice(live: &LiveSession, text: &str) {
    tracing::warn!(target: "waterline::context", session = %live.session.id, "{text}");
}

/// Reports a retry, with the same model or the next one.
pub(crate) fn retrying(live: &LiveSession, error: &CallError, wait: Duration) {
    tracing::warn!(
        target: "waterline::call",
        session = %live.session.id,
        model = %live.model().name,
        %error,
        wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        "retrying the call"
    );
}

/// Reports a context that was too long.
pub(crate) fn overflow(live: &LiveSession, refused: usize) {
    tracing::warn!(
        target: "waterline::context",
        session = %live.session.id,
        model = %live.model().name,
        refused,
        window = live.budget.window,
        "the provider rejected the context"
    );
}

/// Reports a context that is about to be sent. Its size includes the tool definitions.
pub(crate) fn sending(live: &LiveSession) {
    let tools = live.corrected(live.budget.tools);
    tracing::info!(
        target: "waterline::context",
        session = %live.session.id,
        sent = live.generation.context(&live.history).count(),
        total = Parts::of(live, live.generation.slots()).total() + tools,
        tools,
        "context sent"
    );
}

/// Creates the span of one request to a model.
pub(crate) fn call(live: &LiveSession) -> Span {
    let target = live.model();
    tracing::info_span!(
        target: "waterline::call",
        "chat",
        "otel.kind" = "client",
        "gen_ai.operation.name" = "chat",
        "gen_ai.provider.name" = target.model.provider(),
        "gen_ai.request.model" = %target.name,
        "gen_ai.request.max_tokens" = live.config.options.max_tokens,
        "gen_ai.conversation.id" = %live.session.id,
        "gen_ai.conversation.compacted" = live.generation.number > 0,
        "server.address" = target.model.address(),
        "gen_ai.response.model" = field::Empty,
        "gen_ai.response.finish_reasons" = field::Empty,
        "gen_ai.usage.input_tokens" = field::Empty,
        "gen_ai.usage.output_tokens" = field::Empty,
        "gen_ai.usage.cache_read.input_tokens" = field::Empty,
        "gen_ai.usage.cache_creation.input_tokens" = field::Empty,
        "error.type" = field::Empty,
    )
}

/// Records the outcome of a request in its span.
pub(crate) fn answered(span: &Span, outcome: &Result<Answer, CallError>) {
    match outcome {
        Ok(answer) => {
            let usage = &answer.usage;
            if let Some(model) = &answer.model {
                span.record("gen_ai.response.model", model.as_str());
            }
            span.record("gen_ai.response.finish_reasons", field::debug(&answer.stop));
            span.record("gen_ai.usage.input_tokens", usage.prompt());
            span.record("gen_ai.usage.output_tokens", usage.output);
            span.record("gen_ai.usage.cache_read.input_tokens", usage.cache_read);
            span.record("gen_ai.usage.cache_creation.input_tokens", usage.cache_write);
        }
        Err(error) => {
            span.record("error.type", error.kind());
        }
    }
}

/// Reports the token usage of a call, part by part.
pub(crate) fn usage(live: &LiveSession, usage: &Recorded) {
    let of = |treatment| -> usize {
        live.generation
            .slots()
            .iter()
            .filter(|slot| slot.treatment == treatment)
            .map(|slot| slot.tokens)
            .sum()
    };
    let system = live.history.system_tokens();
    let summary = of(Treatment::Summary);
    let messages = live.generation.tokens().saturating_sub(system + summary);
    tracing::info!(
        target: "waterline::call",
        session = %live.session.id,
        model = %usage.model,
        generation = live.generation.number,
        why = %live.generation.reasons,
        system,
        tools = live.budget.tools,
        summary,
        recent = messages,
        prompt = usage.input + usage.cache_read + usage.cache_write,
        cached = usage.cache_read,
        written = usage.cache_write,
        output = usage.output,
        price = usage.price,
        latency_ms = usage.latency,
        window = live.budget.window,
        level = %live.level(),
        "call"
    );
}
