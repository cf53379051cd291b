//! Letta agent files (`.af`): every agent of a file is a conversation. In the first version, one
//! agent is the top-level object.

use std::sync::Arc;

use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Message, Part, Role, Wire};
use waterline::phrase::Phrase;

use super::parts::{call, image, image_at, result, string, text, texts, thinking, time};
use crate::notice::invalid_json;
use crate::transcript::{Compaction, Transcript};

pub(super) const NAME: &str = "letta";

/// Reads a file of several agents with their shared blocks, or of one agent with its memory.
pub(super) fn document(
    fields: &Fields<'_>,
    text: &Arc<String>,
) -> Option<Result<Vec<Transcript>, Phrase>> {
    let has = |name: &str| fields.get(name).is_some();
    let several = fields.get("agents").is_some_and(|list| list.starts_with('['))
        && (has("blocks") || has("tools"));
    let one = has("core_memory") && has("in_context_message_indices");
    (several || one).then(|| {
        let file: Value = serde_json::from_str(text).map_err(|error| invalid_json(&error))?;
        let agents = file["agents"].as_array();
        Ok(agents.map_or_else(
            || vec![transcript(&file)],
            |agents| agents.iter().map(transcript).collect(),
        ))
    })
}

fn transcript(agent: &Value) -> Transcript {
    let id = string(&agent["id"])
        .or_else(|| string(&agent["name"]))
        .unwrap_or_else(|| "agent".to_owned());
    let mut found = Transcript::new(id, Wire::OPENAI_CHAT);
    found.model = string(&agent["llm_config"]["model"]);
    let mut messages: Vec<&Value> =
        agent["messages"].as_array().map_or(&[][..], Vec::as_slice).iter().collect();
    // Some versions list the messages in context first, so they are sorted by time. The sort is
    // stable.
    messages.sort_by_key(|message| time(&message["created_at"]));
    let has_system = messages.iter().any(|message| message["role"] == "system");
    if let Some(system) = text(&agent["system"]).filter(|_| !has_system) {
        found.push(Message::system(system));
    }
    for message in messages {
        add(&mut found, message);
    }
    found
}

fn add(found: &mut Transcript, message: &Value) {
    let mut content = parts(&message["content"]);
    if content.is_empty() {
        content = texts(&message["text"]);
    }
    let is_summary = message["role"] == "summary" || content.iter().any(is_summary_alert);
    let read = match message["role"].as_str().unwrap_or_default() {
        "system" => Message::new(Role::System, content),
        "assistant" | "approval" => {
            Message::new(Role::Assistant, content.into_iter().chain(calls(message)).collect())
        }
        "tool" | "function" => Message::new(Role::Tool, returns(message, content)),
        _ => Message::new(Role::User, content.into_iter().map(unwrapped).collect()),
    };
    if read.parts.is_empty() {
        return;
    }
    if is_summary {
        found.compactions.push(Compaction { at: found.entries.len(), ..Compaction::default() });
    }
    if let Some(entry) = found.push(read) {
        entry.time = time(&message["created_at"]);
        entry.is_summary = is_summary;
    }
}

fn calls(message: &Value) -> Vec<Part> {
    let made = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    made.iter()
        .map(|made| call(&made["id"], &made["function"]["name"], &made["function"]["arguments"]))
        .collect()
}

/// Returns the results in a message. It may have several; older versions have one, with the call id
/// in the message itself.
fn returns(message: &Value, content: Vec<Part>) -> Vec<Part> {
    let listed = message["tool_returns"].as_array().map_or(&[][..], Vec::as_slice);
    let named: Vec<&Value> =
        listed.iter().filter(|result| result["tool_call_id"].is_string()).collect();
    if named.is_empty() {
        let failed = listed.iter().any(|result| result["status"] == "error");
        return vec![result(
            &message["tool_call_id"],
            content.into_iter().map(unwrapped).collect(),
            failed,
        )];
    }
    let outcome = |(at, value): (usize, &Value)| {
        let mut parts = texts(&value["func_response"]);
        if parts.is_empty() {
            parts.extend(content.get(at).cloned());
        }
        result(
            &value["tool_call_id"],
            parts.into_iter().map(unwrapped).collect(),
            value["status"] == "error",
        )
    };
    named.into_iter().enumerate().map(outcome).collect()
}

fn parts(content: &Value) -> Vec<Part> {
    let Value::Array(list) = content else { return texts(content) };
    let part = |part: &Value| match part["type"].as_str()? {
        "text" => text(&part["text"]).map(Part::text),
        "reasoning" => Some(thinking(part["reasoning"].as_str()?, string(&part["signature"]))),
        "tool_call" => Some(call(&part["id"], &part["name"], &part["input"])),
        "tool_return" => {
            Some(result(&part["tool_call_id"], texts(&part["content"]), part["is_error"] == true))
        }
        "image" => {
            let source = &part["source"];
            image(&source["media_type"], &source["data"])
                .or_else(|| text(&source["url"]).map(image_at))
        }
        _ => None,
    };
    list.iter().filter_map(part).collect()
}

/// Unwraps a text that Letta wrapped in JSON with a time: its content is the field `message`.
fn unwrapped(part: Part) -> Part {
    let wrapper = json_of(&part).filter(|value| value["time"].is_string());
    match wrapper.map(|value| value["message"].clone()) {
        Some(Value::String(text)) => Part::text(text),
        Some(other) if !other.is_null() => Part::text(other.to_string()),
        _ => part,
    }
}

fn is_summary_alert(part: &Part) -> bool {
    json_of(part).is_some_and(|value| {
        value["type"] == "system_alert"
            && value["message"].as_str().is_some_and(|text| text.contains("summary"))
    })
}

fn json_of(part: &Part) -> Option<Value> {
    match &part.body {
        waterline::message::Body::Text(text) if text.starts_with('{') => {
            serde_json::from_str(text).ok()
        }
        _ => None,
    }
}
