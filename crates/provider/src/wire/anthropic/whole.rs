//! Splits a whole message into the events of a stream.

use waterline::json::{self, Fields};

use crate::wire::read::string_field;

/// Returns the events that stream the message block by block.
pub(super) fn events(body: &str) -> Vec<String> {
    let Some(message) = Fields::parse(body) else { return Vec::new() };
    let Some(blocks) = message.get("content").and_then(json::elements) else { return Vec::new() };
    if string_field(&message, "type") != "message" {
        return Vec::new();
    }
    let reason = message.get("stop_reason").unwrap_or("null");
    let end = json::object([
        ("type", json::quote("message_delta")),
        ("delta", json::object([("stop_reason", reason)])),
    ]);
    let start = json::object([("type", json::quote("message_start").as_str()), ("message", body)]);
    let blocks = blocks.into_iter().enumerate().flat_map(|(index, json)| block(index, json));
    [start].into_iter().chain(blocks).chain([end]).collect()
}

/// Returns the start of a block without its text, and the text as one delta.
fn block(index: usize, json: &str) -> Vec<String> {
    let Some(fields) = Fields::parse(json) else { return Vec::new() };
    let kind = string_field(&fields, "type");
    let (name, delta) = match kind.as_str() {
        "text" => ("text", "text_delta"),
        "thinking" => ("thinking", "thinking_delta"),
        "tool_use" => ("input", "input_json_delta"),
        _ => ("", ""),
    };
    let value = fields.get(name);
    let empty = if name == "input" { "{}" } else { "\"\"" };
    let emptied = |(known, value)| (known, if known == name { empty } else { value });
    let empty_block = json::object(fields.iter().map(emptied));
    let start = event("content_block_start", index, "content_block", &empty_block);
    let text = value.map(|value| {
        let value = if name == "input" { json::quote(value) } else { value.to_owned() };
        let field = if name == "input" { "partial_json" } else { name };
        let delta = json::object([("type", json::quote(delta)), (field, value)]);
        event("content_block_delta", index, "delta", &delta)
    });
    [start].into_iter().chain(text).collect()
}

fn event(kind: &str, index: usize, name: &str, value: &str) -> String {
    json::object([
        ("type", json::quote(kind)),
        ("index", index.to_string()),
        (name, value.to_owned()),
    ])
}
