//! The deterministic digest: for each folded turn the request, the tool calls with their main
//! arguments and outcomes, and the answer. It is written without a model.

use serde_json::Value;

use crate::history::{AtomKind, History};
use crate::message::{Role, ToolCall, ToolResult};
use crate::truncate;

const REQUEST_CHARS: usize = 300;
const ANSWER_CHARS: usize = 240;
const ARGUMENT_CHARS: usize = 120;
const OUTCOME_CHARS: usize = 100;
const ARGUMENTS: usize = 3;

/// Arguments that say how a tool was run, not what it was run on.
const BOOKKEEPING: [&str; 10] = [
    "timeout",
    "timeout_ms",
    "limit",
    "offset",
    "max_lines",
    "head_limit",
    "description",
    "explanation",
    "delay",
    "login",
];

/// Writes the digest of these atoms within `budget` tokens, and `extra` more for what the user
/// wrote. Half of the budget is for user messages. If not everything fits, the newest atoms win.
pub(crate) fn write(history: &History, atoms: &[usize], budget: usize, extra: usize) -> String {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let is_request = |at: &usize| history.atom(*at).is_some_and(|atom| atom.kind == AtomKind::User);
    let mut left_for_requests = budget / 2 + extra;
    for at in atoms.iter().copied().filter(is_request).rev() {
        if !add(&mut lines, history, at, &mut left_for_requests) {
            break;
        }
    }
    let mut left = budget - budget / 2 + left_for_requests.saturating_sub(extra);
    let mut unlisted = 0;
    for at in atoms.iter().copied().filter(|at| !is_request(at)).rev() {
        if unlisted > 0 || !add(&mut lines, history, at, &mut left) {
            unlisted += 1;
        }
    }
    lines.sort_by_key(|(at, _)| *at);
    let mut text: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    if unlisted > 0 && !text.is_empty() {
        text.insert(
            0,
            match unlisted {
                1 => "(1 earlier step or answer is not listed)".to_owned(),
                _ => format!("({unlisted} earlier steps and answers are not listed)"),
            },
        );
    }
    text.join("\n")
}

fn add(lines: &mut Vec<(usize, String)>, history: &History, at: usize, left: &mut usize) -> bool {
    let line = describe(history, at);
    let cost = history.counter().text(&line) + 1;
    if cost > *left {
        return false;
    }
    *left -= cost;
    if !line.is_empty() {
        lines.push((at, line));
    }
    true
}

fn describe(history: &History, at: usize) -> String {
    let kind = history.atom(at).map(|atom| atom.kind);
    let joined_text = || {
        let texts: Vec<&str> =
            history.atom_messages(at).flat_map(|message| message.texts()).collect();
        texts.join(" ")
    };
    match kind {
        Some(AtomKind::User) => format!("user: {}", truncate::line(&joined_text(), REQUEST_CHARS)),
        Some(AtomKind::Reply) => {
            format!("assistant: {}", truncate::line(&joined_text(), ANSWER_CHARS))
        }
        Some(AtomKind::Exchange) => exchange(history, at),
        _ => String::new(),
    }
}

fn exchange(history: &History, at: usize) -> String {
    let results: Vec<&ToolResult> =
        history.atom_messages(at).flat_map(|message| message.results()).collect();
    let calls = history.atom_messages(at).flat_map(|message| message.calls());
    let steps = calls.map(|call| {
        let result = results.iter().find(|result| result.call_id == call.id);
        let outcome = result.map_or_else(|| "interrupted".to_owned(), |result| outcome(result));
        format!("- {}{} → {outcome}", call.name, key_arguments(call))
    });
    // The user may have written something while the tools ran.
    let from_user = history
        .atom_messages(at)
        .filter(|message| message.role != Role::Assistant && message.has_text());
    let requests = from_user
        .map(|message| format!("user: {}", truncate::line(&message.text(), REQUEST_CHARS)));
    steps.chain(requests).collect::<Vec<_>>().join("\n")
}

fn key_arguments(call: &ToolCall) -> String {
    let Ok(Value::Object(arguments)) = serde_json::from_str(&call.arguments) else {
        return String::new();
    };
    let main = arguments
        .iter()
        .filter(|(key, value)| !BOOKKEEPING.contains(&key.as_str()) && !value.is_null());
    let shown = main.take(ARGUMENTS).map(|(key, value)| match value {
        Value::String(text) => format!(" {key}={}", truncate::line(text, ARGUMENT_CHARS)),
        other => format!(" {key}={}", truncate::line(&other.to_string(), ARGUMENT_CHARS)),
    });
    shown.collect()
}

fn outcome(result: &ToolResult) -> String {
    let text = result.text();
    let first_line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let first = truncate::line(first_line, OUTCOME_CHARS);
    match (result.is_error, first.is_empty(), text.lines().count()) {
        (true, true, _) => "failed".to_owned(),
        (true, false, _) => format!("failed: {first}"),
        (false, true, _) => "done".to_owned(),
        (false, false, 1) => first,
        (false, false, lines) => format!("{first} ({lines} lines)"),
    }
}
