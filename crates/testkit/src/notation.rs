//! Conversations in the short notation of the test vectors: `S H A[a,b] T(a) T(b) A`.

use waterline::message::{Body, Message, Part, Role, ToolCall, ToolResult};

/// The messages of a notation: `S` system, `H` human, `A` an answer, `A[a,b]` calls, `T(a)` a
/// result. Each text says which message it is; `H:words` sets it.
#[must_use]
pub fn messages(notation: &str) -> Vec<Message> {
    notation.split_whitespace().enumerate().map(|(at, word)| message(at, word)).collect()
}

fn message(at: usize, word: &str) -> Message {
    let (kind, words) = word.split_once(':').unwrap_or((word, ""));
    let text =
        |name: &str| if words.is_empty() { format!("{name} {at}") } else { words.to_owned() };
    if let Some(ids) = kind.strip_prefix("A[").and_then(|rest| rest.strip_suffix(']')) {
        let call = |id: &str| ToolCall::new(id, "tool", "{}");
        let mut parts: Vec<Part> = ids.split(',').map(|id| Body::Call(call(id)).into()).collect();
        if !words.is_empty() {
            parts.insert(0, Part::text(words));
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

/// A list of messages in the notation; a result that was made because none came is `T(a!)`.
pub fn show<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    messages.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

fn word(message: &Message) -> String {
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
    let made = if result.is_error { "!" } else { "" };
    format!("T({}{made})", result.call_id)
}
