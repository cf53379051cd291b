//! Conversations in the short notation of the test vectors: `S H A[a,b] T(a) T(b) A`.

use waterline::message::{Body, Message, Part, Role, ToolCall, ToolResult};

/// Parses the notation: `S` system, `H` human, `A` an answer, `A[a,b]` calls, `T(a)` a result. The
/// default text has the message's index; `H:text` sets another.
#[must_use]
pub fn messages(notation: &str) -> Vec<Message> {
    notation.split_whitespace().enumerate().map(|(at, symbol)| message(at, symbol)).collect()
}

fn message(at: usize, symbol: &str) -> Message {
    let (kind, given) = symbol.split_once(':').unwrap_or((symbol, ""));
    let text =
        |name: &str| if given.is_empty() { format!("{name} {at}") } else { given.to_owned() };
    if let Some(ids) = kind.strip_prefix("A[").and_then(|rest| rest.strip_suffix(']')) {
        let call = |id: &str| ToolCall::new(id, "tool", "{}");
        let mut parts: Vec<Part> = ids.split(',').map(|id| Body::Call(call(id)).into()).collect();
        if !given.is_empty() {
            parts.insert(0, Part::text(given));
        }
        return Message::new(Role::Assistant, parts);
    }
    if let Some(id) = kind.strip_prefix("T(").and_then(|rest| rest.strip_suffix(')')) {
        return Message::tool_result(id, text("result"));
    }
    match kind {
        "S" => Message::system(text("system")),
        "A" => Message::assistant(text("answer")),
        _ => Message::user(text("question")),
    }
}

/// Writes messages in the notation. A failed result, for example one made for an unanswered call,
/// is `T(a!)`.
pub fn show<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    messages.into_iter().map(symbol).collect::<Vec<_>>().join(" ")
}

fn symbol(message: &Message) -> String {
    let results: Vec<String> = message.results().map(result).collect();
    if !results.is_empty() {
        return results.join(" ");
    }
    let calls: Vec<&str> = message.calls().map(|call| call.id.as_str()).collect();
    match message.role {
        Role::System => "S".into(),
        Role::Assistant if calls.is_empty() => "A".into(),
        Role::Assistant => format!("A[{}]", calls.join(",")),
        Role::User | Role::Tool => "H".into(),
    }
}

fn result(result: &ToolResult) -> String {
    let mark = if result.is_error { "!" } else { "" };
    format!("T({}{mark})", result.call_id)
}
