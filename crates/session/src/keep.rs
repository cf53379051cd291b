//! What stays whatever is folded: open todos, approvals that wait for somebody, pinned messages. It is state of the session,
//! so no summary can lose or invent it.

use serde_json::Value;
use waterline_log::State;

/// What a note must say, word for word.
pub(crate) fn lines(state: &State) -> Vec<String> {
    let todos = state.todos.iter().filter_map(todo);
    let pending = (!state.pending_action.is_null()).then(|| waiting(&state.pending_action));
    pending.into_iter().chain(todos).collect()
}

/// The messages that were pinned, by their place in the session.
pub(crate) fn pins(state: &State) -> impl Iterator<Item = u64> {
    let pins = state.other.get(PINS).and_then(Value::as_array);
    pins.into_iter().flatten().filter_map(Value::as_u64)
}

/// Pins a message.
pub(crate) fn pin(state: &mut State, place: u64) {
    let pins = state.other.entry(PINS).or_insert_with(|| Value::Array(Vec::new()));
    if let Some(pins) = pins.as_array_mut().filter(|pins| !pins.contains(&Value::from(place))) {
        pins.push(Value::from(place));
    }
}

/// Where the state keeps what is pinned.
const PINS: &str = "pins";

/// A todo that is not done.
fn todo(todo: &Value) -> Option<String> {
    let field = |name: &str| todo.get(name).and_then(Value::as_str);
    let status = field("status").unwrap_or("pending");
    if status == "completed" {
        return None;
    }
    let content = field("content").or_else(|| field("title")).or_else(|| field("task")).or_else(|| todo.as_str());
    let content = content.map_or_else(|| todo.to_string(), str::to_owned);
    Some(format!("todo, {}: {content}", status.replace('_', " ")))
}

/// What waits for a person: a question for an answer, anything else for their consent.
fn waiting(action: &Value) -> String {
    match action.get("question") {
        Some(question) => format!("waits for the user's answer: {}", words(question)),
        None => format!("waits for approval: {}", words(action)),
    }
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// S1.46: what waits for a person is said whatever the summary says.
    #[test]
    fn s1_46_open_todos_and_approvals_are_said_and_done_ones_are_not() {
        let state = State {
            todos: vec![
                json!({"content": "write the docs", "status": "in_progress"}),
                json!({"content": "build it", "status": "completed"}),
                json!("call the office"),
            ],
            pending_action: json!({"tool": "run_bash_command", "command": "rm -r build"}),
            other: json!({"pins": [3, 7]}).as_object().cloned().unwrap_or_default(),
            ..State::default()
        };
        assert_eq!(
            lines(&state),
            [
                r#"waits for approval: {"tool":"run_bash_command","command":"rm -r build"}"#,
                "todo, in progress: write the docs",
                "todo, pending: call the office"
            ]
        );
        assert_eq!(pins(&state).collect::<Vec<_>>(), [3, 7]);
    }
}
