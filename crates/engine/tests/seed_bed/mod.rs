//! Shared by the tests of the presets that are named after the seed documents: a context whose
//! summaries are supplied, and the conversations that are put into it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use waterline::message::{Message, ToolCall};
use waterline::{Action, Context, Counter, Method, Policy};
use waterline_testkit::show;

pub(crate) const SUMMARY: &str = "Current: the wheel turns. Pending: the roof.";

pub(crate) fn policy(preset: &str, settings: &[(&str, &str)]) -> Policy {
    let settings: Vec<(String, String)> =
        settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Policy::preset_with(preset, &settings).unwrap()
}

pub(crate) fn context(policy: Policy, window: usize) -> Context {
    Context::builder()
        .policy(policy)
        .window(window)
        .counter(Counter::new(Method::Chars4, 1_000))
        .build()
        .unwrap()
}

/// A fold that happened: the tokens before and after it, and the context.
#[derive(Debug)]
pub(crate) struct Folded {
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) shown: String,
}

/// Plans the next call, supplies the summary that it wants, and commits it.
pub(crate) fn call(context: &mut Context, added: Vec<Message>) -> Option<Folded> {
    context.extend(added);
    let mut next = context.plan();
    if next.wanted().is_some() {
        next = next.with_summary(SUMMARY);
    }
    let folded = match next.action().clone() {
        Action::Fold { from, .. } => Some((from, next.tokens().context)),
        _ => None,
    };
    let shown = show(next.commit());
    folded.map(|(before, after)| Folded { before, after, shown })
}

/// Returns a step: a call and a result of `tokens` tokens.
pub(crate) fn step(at: usize, tokens: usize) -> Vec<Message> {
    let id = format!("c{at}");
    let arguments = format!(r#"{{"path":"src/part_{at}.rs"}}"#);
    let call = Message::assistant_with_calls("", [ToolCall::new(&id, "read", arguments)]);
    vec![call, Message::tool_result(&id, "word ".repeat(tokens * 4 / 5))]
}

/// Returns one request with `steps` steps.
pub(crate) fn alone(steps: usize, tokens: usize) -> Vec<Message> {
    let request = vec![Message::user("Build the mill.")];
    request.into_iter().chain((0..steps).flat_map(|at| step(at, tokens))).collect()
}

pub(crate) fn turn(at: usize, tokens: usize) -> Vec<Message> {
    vec![
        Message::user(format!("question {at} {}", "word ".repeat(tokens * 2 / 5))),
        Message::assistant(format!("answer {at} {}", "word ".repeat(tokens * 2 / 5))),
    ]
}

/// Adds messages to a context one call at a time and returns the folds.
pub(crate) fn calls(
    context: &mut Context,
    added: impl IntoIterator<Item = Vec<Message>>,
) -> Vec<Folded> {
    added.into_iter().filter_map(|added| call(context, added)).collect()
}

pub(crate) fn steps(from: usize, to: usize) -> String {
    (from..to).map(|at| format!("A[c{at}] T(c{at})")).collect::<Vec<_>>().join(" ")
}
