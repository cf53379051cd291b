//! Splits a whole response into the events of a stream.

use waterline::json::{self, Fields};

use crate::wire::read::string_field;

/// Returns the events that stream the response item by item.
pub(super) fn events(body: &str) -> Vec<String> {
    let Some(response) = Fields::parse(body) else { return Vec::new() };
    let Some(items) = response.get("output").and_then(json::elements) else { return Vec::new() };
    if string_field(&response, "object") != "response" {
        return Vec::new();
    }
    let kind = match string_field(&response, "status").as_str() {
        "incomplete" => "response.incomplete",
        "failed" => "response.failed",
        _ => "response.completed",
    };
    let end = json::object([("type", json::quote(kind).as_str()), ("response", body)]);
    let items = items.into_iter().enumerate().flat_map(|(index, json)| item(index, json));
    items.chain([end]).collect()
}

/// Returns the start of an item, its text or arguments as one delta, and its end.
fn item(index: usize, json: &str) -> Vec<String> {
    let Some(fields) = Fields::parse(json) else { return Vec::new() };
    let mut events = vec![event("response.output_item.added", index, "item", json)];
    match string_field(&fields, "type").as_str() {
        "message" => {
            for part in fields.get("content").and_then(json::elements).unwrap_or_default() {
                let Some(part) = Fields::parse(part) else { continue };
                if string_field(&part, "type") == "refusal" {
                    events.push(event("response.refusal.done", index, "refusal", "\"\""));
                } else if let Some(text) = part.get("text") {
                    events.push(event("response.output_text.delta", index, "delta", text));
                }
            }
        }
        "function_call" => {
            let arguments = fields.get("arguments").unwrap_or("\"\"");
            events.push(event("response.function_call_arguments.delta", index, "delta", arguments));
        }
        _ => {}
    }
    events.push(event("response.output_item.done", index, "item", json));
    events
}

fn event(kind: &str, index: usize, name: &str, value: &str) -> String {
    json::object([
        ("type", json::quote(kind)),
        ("output_index", index.to_string()),
        (name, value.to_owned()),
    ])
}
