//! The deterministic digest: for each folded turn the request, the tool calls with their main
//! arguments and outcomes, and the answer. It is written without a model.

use serde_json::Value;

use super::frame::DigestWords;
use crate::history::{AtomKind, History};
use crate::message::{Role, ToolCall, ToolResult};
use crate::tokens::Counter;
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
    let words = DigestWords::of(history);
    let mut lines: Vec<Line> = Vec::new();
    let is_request = |at: &usize| history.atom(*at).is_some_and(|atom| atom.kind == AtomKind::User);
    let mut left_for_requests = budget / 2 + extra;
    for at in atoms.iter().copied().filter(is_request).rev() {
        let line = (at, describe(history, at, words));
        if !add(&mut lines, line, history.counter(), &mut left_for_requests) {
            break;
        }
    }
    let mut left = budget - budget / 2 + left_for_requests.saturating_sub(extra);
    let mut unlisted = 0;
    for at in atoms.iter().copied().filter(|at| !is_request(at)).rev() {
        let line = || (at, describe(history, at, words));
        if unlisted > 0 || !add(&mut lines, line(), history.counter(), &mut left) {
            unlisted += 1;
        }
    }
    lines.sort_by_key(|(at, _)| *at);
    let mut text: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    if unlisted > 0 && !text.is_empty() {
        text.insert(0, words.unlisted(unlisted));
    }
    text.join("\n")
}

/// A line of the digest, after the atom that it describes.
type Line = (usize, String);

/// Adds a line if it fits into the tokens that are left.
fn add(lines: &mut Vec<Line>, line: Line, counter: &Counter, left: &mut usize) -> bool {
    let cost = counter.text(&line.1) + 1;
    if cost > *left {
        return false;
    }
    *left -= cost;
    if !line.1.is_empty() {
        lines.push(line);
    }
    true
}

fn describe(history: &History, at: usize, words: &DigestWords) -> String {
    let kind = history.atom(at).map(|atom| atom.kind);
    let joined_text = || {
        let texts: Vec<&str> =
            history.atom_messages(at).flat_map(|message| message.texts()).collect();
        texts.join(" ")
    };
    match kind {
        Some(AtomKind::User) => words.user(&truncate::line(&joined_text(), REQUEST_CHARS)),
        Some(AtomKind::Reply) => words.assistant(&truncate::line(&joined_text(), ANSWER_CHARS)),
        Some(AtomKind::Exchange) => exchange(history, at, words),
        _ => String::new(),
    }
}

fn exchange(history: &History, at: usize, words: &DigestWords) -> String {
    let results: Vec<&ToolResult> =
        history.atom_messages(at).flat_map(|message| message.results()).collect();
    let calls = history.atom_messages(at).flat_map(|message| message.calls());
    let steps = calls.map(|call| {
        let result = results.iter().find(|result| result.call_id == call.id);
        let outcome =
            result.map_or_else(|| words.interrupted.clone(), |result| outcome(result, words));
        format!("- {}{} → {outcome}", call.name, key_arguments(call))
    });
    // The user may have written something while the tools ran.
    let from_user = history
        .atom_messages(at)
        .filter(|message| message.role != Role::Assistant && message.has_text());
    let requests =
        from_user.map(|message| words.user(&truncate::line(&message.text(), REQUEST_CHARS)));
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

fn outcome(result: &ToolResult, words: &DigestWords) -> String {
    let text = result.text();
    let first_line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let first = truncate::line(first_line, OUTCOME_CHARS);
    match (result.is_error, first.is_empty(), text.lines().count()) {
        (true, true, _) => words.failed.clone(),
        (true, false, _) => words.failed_with(&first),
        (false, true, _) => words.done.clone(),
        (false, false, 1) => first,
        (false, false, count) => words.lines(&first, count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Body, Message};
    use crate::summary::digest;

    /// Returns the digest of a turn in which a call succeeded, one failed and one has no result.
    fn digest_of(request: &str, budget: usize) -> String {
        let failed = ToolResult { is_error: true, ..ToolResult::new("2", "no such file") };
        let calls = [("1", "ls", "{}"), ("2", "read", r#"{"path":"a"}"#), ("3", "run", "{}")];
        let calls = calls.map(|(id, name, arguments)| ToolCall::new(id, name, arguments));
        let messages = vec![
            Message::user(request),
            Message::assistant_with_calls("", calls),
            Message::tool_result("1", "a\nb"),
            Message::new(Role::Tool, vec![Body::Result(failed).into()]),
            Message::assistant("4 m"),
        ];
        let history = History::of(Counter::default(), messages);
        digest(&history, &[0, 1, 2, 3, 4], budget)
    }

    #[test]
    fn the_digest_is_in_the_language_of_the_conversation() {
        assert_eq!(
            digest_of("Please check the mill", 500),
            "user: Please check the mill\n- ls → a (2 lines)\n- read path=a → failed: no such \
             file\n- run → interrupted\nassistant: 4 m"
        );
        assert_eq!(
            digest_of("请检查磨坊的水轮", 500),
            "用户：请检查磨坊的水轮\n- ls → a（2 行）\n- read path=a → 失败：no such file\n- run → \
             已中断\n助手：4 m"
        );
    }

    #[test]
    fn what_does_not_fit_is_counted_in_the_language_of_the_conversation() {
        let english = digest_of("Please check the mill", 30);
        assert!(
            english.starts_with("(1 earlier step or answer is not listed)\nuser: "),
            "{english}"
        );
        let chinese = digest_of("请检查磨坊的水轮", 30);
        assert!(chinese.starts_with("（另有 1 个较早的步骤或回答未列出）\n用户："), "{chinese}");
    }
}
