//! Letta's agent files (`.af`): every agent of a file is a conversation. The first version has one
//! agent at the top.

use std::sync::Arc;

use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Message, Part, Role, Wire};

use super::parts::{call, picture, picture_at, result, text, texts, thinking, time, word};
use crate::transcript::{Compaction, Transcript};

pub(super) const NAME: &str = "letta";

/// Several agents with what they share, or one with its memory.
pub(super) fn document(
    fields: &Fields<'_>,
    text: &Arc<String>,
) -> Option<Result<Vec<Transcript>, String>> {
    let has = |name: &str| fields.get(name).is_some();
    let several = fields.get("agents").is_some_and(|list| list.starts_with('['))
        && (has("blocks") || has("tools"));
    let one = has("core_memory") && has("in_context_message_indices");
    (several || one).then(|| {
        let file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let agents = file["agents"].as_array();
        Ok(agents.map_or_else(
            || vec![transcript(&file)],
            |agents| agents.iter().map(transcript).collect(),
        ))
    })
}

fn transcript(agent: &Value) -> Transcript {
    let id =
        word(&agent["id"]).or_else(|| word(&agent["name"])).unwrap_or_else(|| "agent".to_owned());
    let mut found = Transcript::new(id, Wire::OPENAI_CHAT);
    found.model = word(&agent["llm_config"]["model"]);
    let mut messages: Vec<&Value> =
        agent["messages"].as_array().map_or(&[][..], Vec::as_slice).iter().collect();
    // Files of some versions list what is in context first; the times tell the order. The sort
    // keeps what is equal.
    messages.sort_by_key(|message| time(&message["created_at"]));
    let is_told = messages.iter().any(|message| message["role"] == "system");
    if let Some(system) = text(&agent["system"]).filter(|_| !is_told) {
        found.push(Message::system(system));
    }
    for message in messages {
        add(&mut found, message);
    }
    found
}

fn add(found: &mut Transcript, message: &Value) {
    let said = parts(&message["content"]);
    let said = if said.is_empty() { texts(&message["text"]) } else { said };
    let is_summary = message["role"] == "summary" || said.iter().any(is_alert);
    let read = match message["role"].as_str().unwrap_or_default() {
        "system" => Message::new(Role::System, said),
        "assistant" | "approval" => {
            Message::new(Role::Assistant, said.into_iter().chain(calls(message)).collect())
        }
        "tool" | "function" => Message::new(Role::Tool, returns(message, said)),
        _ => Message::new(Role::User, said.into_iter().map(unpacked).collect()),
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

/// One message may carry the results of several calls; older ones carry one, named at the top.
fn returns(message: &Value, said: Vec<Part>) -> Vec<Part> {
    let listed = message["tool_returns"].as_array().map_or(&[][..], Vec::as_slice);
    let named: Vec<&Value> =
        listed.iter().filter(|result| result["tool_call_id"].is_string()).collect();
    if named.is_empty() {
        let failed = listed.iter().any(|result| result["status"] == "error");
        return vec![result(
            &message["tool_call_id"],
            said.into_iter().map(unpacked).collect(),
            failed,
        )];
    }
    let told = |(at, value): (usize, &Value)| {
        let answer = texts(&value["func_response"]);
        let answer =
            if answer.is_empty() { said.get(at).cloned().into_iter().collect() } else { answer };
        result(
            &value["tool_call_id"],
            answer.into_iter().map(unpacked).collect(),
            value["status"] == "error",
        )
    };
    named.into_iter().enumerate().map(told).collect()
}

fn parts(content: &Value) -> Vec<Part> {
    let Value::Array(list) = content else { return texts(content) };
    let part = |part: &Value| match part["type"].as_str()? {
        "text" => text(&part["text"]).map(Part::text),
        "reasoning" => Some(thinking(part["reasoning"].as_str()?, word(&part["signature"]))),
        "tool_call" => Some(call(&part["id"], &part["name"], &part["input"])),
        "tool_return" => {
            Some(result(&part["tool_call_id"], texts(&part["content"]), part["is_error"] == true))
        }
        "image" => {
            let source = &part["source"];
            picture(&source["media_type"], &source["data"])
                .or_else(|| text(&source["url"]).map(picture_at))
        }
        _ => None,
    };
    list.iter().filter_map(part).collect()
}

/// Words that were packed into JSON with a time: what the user or the tool said is its message.
fn unpacked(part: Part) -> Part {
    let packed = packed(&part).filter(|value| value["time"].is_string());
    match packed.map(|value| value["message"].clone()) {
        Some(Value::String(text)) => Part::text(text),
        Some(other) if !other.is_null() => Part::text(other.to_string()),
        _ => part,
    }
}

fn is_alert(part: &Part) -> bool {
    packed(part).is_some_and(|value| {
        value["type"] == "system_alert"
            && value["message"].as_str().is_some_and(|said| said.contains("summary"))
    })
}

fn packed(part: &Part) -> Option<Value> {
    match &part.body {
        waterline::message::Body::Text(text) if text.starts_with('{') => {
            serde_json::from_str(text).ok()
        }
        _ => None,
    }
}
