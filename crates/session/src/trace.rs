//! Tracing events for folds, calls and retries. Attribute names of calls follow OpenTelemetry's
//! conventions for generative AI. Events never contain message text.

use std::time::Duration;

use tracing::{Span, field};
use waterline::plan::{Marks, Plan, Treatment};
use waterline_log::{Fold, Usage as Recorded};
use waterline_provider::CallError;
use waterline_provider::answer::{Answer, Usage};

use crate::live::LiveSession;

/// The assumed price of an output token, in multiples of an uncached prompt token.
const OUTPUT_PRICE: f64 = 5.0;

/// Reports a fold, with the figures of S3.40 to S3.47.
pub(crate) fn folded(live: &LiveSession, plan: &Plan, fold: &Fold, room: &Marks) {
    let policy = live.policy();
    let budget = |key: &str| policy.size(key).map_or(0, |size| room.tokens(size));
    let sum = |matches: fn(Treatment) -> bool| -> usize {
        plan.slots.iter().filter(|slot| matches(slot.treatment)).map(|slot| slot.tokens).sum()
    };
    let shown = plan
        .slots
        .iter()
        .filter(|slot| slot.treatment.is_sent())
        .map(|slot| slot.sources.len())
        .sum::<usize>();
    let summary = sum(|treatment| treatment == Treatment::Summary);
    let system = live.history.system_tokens();
    let recent = sum(Treatment::is_sent).saturating_sub(system);
    let window = live.budget.window;
    tracing::info!(
        target: "waterline::context",
        session = %live.session.id,
        policy = %policy.name,
        generation = live.generation.number + 1,
        reason = %fold.reason,
        window,
        usable = policy.fold.target.of(window).min(window),
        system,
        tools = live.budget.tools,
        available = room.available,
        messages = live.history.len(),
        tokens = live.history.tokens(),
        summary_budget = budget("summarise.max"),
        recent_budget = budget("window.tokens"),
        summary,
        recent,
        shown,
        before = fold.tokens_before,
        total = plan.tokens.after,
        "context folded"
    );
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

/// Reports a context that is about to be sent.
pub(crate) fn sending(live: &LiveSession) {
    tracing::info!(
        target: "waterline::context",
        session = %live.session.id,
        sent = live.generation.context(&live.history).count(),
        total = live.prompt_tokens(),
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
pub(crate) fn took(live: &LiveSession, usage: &Recorded) {
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
        why = %live.generation.reason,
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

/// Computes the price of a call in millionths, if the price of the model is known.
pub(crate) fn price(live: &LiveSession, usage: &Usage) -> Option<i64> {
    let price = live.model().price?;
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    let tokens = |count: usize| count as f64;
    let units = tokens(usage.input)
        + tokens(usage.cache_read) * live.model.cache_read
        + tokens(usage.cache_write) * live.model.cache_write
        + tokens(usage.output) * OUTPUT_PRICE;
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^63")]
    let millionths = (units * price).round() as i64;
    Some(millionths)
}
