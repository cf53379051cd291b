//! LangGraph states and LangChain messages as JSON: a message list in any of three encodings, a
//! state with such a list, or the states of a thread, newest first, whose messages are joined.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Body, Message, Part, Role, Wire};
use waterline::phrase::Phrase;

use super::parts::{call, count, image, image_at, result, string, text, texts, thinking, time};
use crate::transcript::{Compaction, Entry, Transcript, Usage};

pub(super) const NAME: &str = "langgraph";

/// Reads any document with LangChain messages.
pub(super) fn document(
    _: &Fields<'_>,
    text: &Arc<String>,
) -> Option<Result<Vec<Transcript>, Phrase>> {
    // A quick check, because other message lists are more common.
    let markers = ["\"lc\"", "\"human\"", "\"HumanMessage", "\"ai\"", "\"AIMessage"];
    if !markers.iter().any(|marker| text.contains(marker)) {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let found = states(&value)?;
    Some(Ok(vec![found]))
}

/// Returns the transcript of one state or of all states of a thread.
fn states(value: &Value) -> Option<Transcript> {
    if let Some(list) = messages_in(value) {
        let mut found = Transcript::new(thread(value), Wire::OPENAI_CHAT);
        list.iter().filter_map(message).for_each(|entry| push(&mut found, entry));
        return Some(found);
    }
    let list = value.as_array()?;
    let mut states: Vec<(&Value, &[Value])> =
        list.iter().filter_map(|one| Some((one, messages_in(one)?))).collect();
    states.sort_by_key(|(state, _)| state["metadata"]["step"].as_i64());
    let (first, _) = states.first()?;
    let mut found = Transcript::new(thread(first), Wire::OPENAI_CHAT);
    let mut known: FxHashMap<String, usize> = FxHashMap::default();
    let mut previous = 0;
    for (state, list) in &states {
        // Fewer messages than before mean that the program compacted its context.
        if list.len() < previous {
            found.compactions.push(Compaction { at: found.entries.len(), ..Compaction::default() });
            previous = 0;
        }
        merge(&mut found, &mut known, list, previous, time(&state["created_at"]));
        previous = list.len();
    }
    (!found.entries.is_empty()).then_some(found)
}

/// Merges the messages of a state. A message with a known id replaces the earlier one. Messages
/// without an id are matched with the `previous` messages of the last state by their index.
fn merge(
    found: &mut Transcript,
    known: &mut FxHashMap<String, usize>,
    list: &[Value],
    previous: usize,
    time: Option<i64>,
) {
    for (at, value) in list.iter().enumerate() {
        let id = string(&fields(value)["id"]);
        if id.is_none() && at < previous {
            continue;
        }
        let Some(mut entry) = message(value) else { continue };
        entry.time = time;
        match id.as_ref().and_then(|id| known.get(id)).and_then(|&at| found.entries.get_mut(at)) {
            Some(old) => old.message = entry.message,
            None => {
                known.extend(id.map(|id| (id, found.entries.len())));
                push(found, entry);
            }
        }
    }
}

fn push(found: &mut Transcript, entry: Entry) {
    if found.model.is_none() && entry.message.role == Role::Assistant {
        found.model = entry
            .message
            .extra
            .iter()
            .find(|(name, _)| name == "model")
            .map(|(_, json)| json.clone());
    }
    let mut entry = Entry { index: found.entries.len(), ..entry };
    entry.message.extra.clear();
    found.entries.push(entry);
}

/// Returns the message list of a state, wherever it is.
fn messages_in(value: &Value) -> Option<&[Value]> {
    let candidates = [
        value,
        &value["messages"],
        &value["values"]["messages"],
        &value["channel_values"]["messages"],
        &value["checkpoint"]["channel_values"]["messages"],
    ];
    let lists = candidates.into_iter().filter_map(Value::as_array);
    lists
        .into_iter()
        .map(Vec::as_slice)
        .find(|list| !list.is_empty() && list.iter().all(is_message))
}

fn thread(state: &Value) -> String {
    let ids = [
        &state["thread_id"],
        &state["checkpoint"]["thread_id"],
        &state["config"]["configurable"]["thread_id"],
        &state["checkpoint_id"],
    ];
    ids.into_iter().find_map(string).unwrap_or_else(|| "thread".to_owned())
}

/// Returns the fields of a message in any encoding.
fn fields(value: &Value) -> &Value {
    if value["lc"] == 1 {
        &value["kwargs"]
    } else if value["data"].is_object() && value["type"].is_string() {
        &value["data"]
    } else {
        value
    }
}

/// Returns the kind of a message: `human`, `ai`, `tool` …
fn kind(value: &Value) -> String {
    let class = value["id"]
        .as_array()
        .and_then(|path| path.last())
        .and_then(Value::as_str)
        .filter(|_| value["lc"] == 1);
    let name = class
        .or_else(|| fields(value)["type"].as_str())
        .or_else(|| value["type"].as_str())
        .unwrap_or_default();
    name.trim_end_matches("Chunk").trim_end_matches("Message").to_ascii_lowercase()
}

fn is_message(value: &Value) -> bool {
    let known = ["human", "ai", "system", "tool", "function", "chat", "remove"];
    value.is_object()
        && known.contains(&kind(value).as_str())
        && fields(value).get("content").is_some()
}

fn message(value: &Value) -> Option<Entry> {
    let fields = fields(value);
    let content = parts(&fields["content"]);
    let message = match kind(value).as_str() {
        "human" => Message::new(Role::User, content),
        "system" => Message::new(Role::System, content),
        "ai" => Message::new(Role::Assistant, answer(fields, content)),
        "tool" => Message::new(
            Role::Tool,
            vec![result(&fields["tool_call_id"], content, fields["status"] == "error")],
        ),
        "function" => Message::new(Role::Tool, vec![result(&fields["name"], content, false)]),
        "chat" if fields["role"] == "assistant" => Message::new(Role::Assistant, content),
        "chat" => Message::new(Role::User, content),
        _ => return None,
    };
    let mut entry = Entry::of(message, 0);
    entry.is_summary = fields["additional_kwargs"]["lc_source"] == "summarization";
    entry.usage = usage(&fields["usage_metadata"]);
    let metadata = &fields["response_metadata"];
    let model = string(&metadata["model_name"]).or_else(|| string(&metadata["model"]));
    entry.message.extra.extend(model.map(|model| ("model".to_owned(), model)));
    Some(entry)
}

/// Returns the parts of an answer. The calls come from `tool_calls` if it is set; the content and
/// older fields repeat them.
fn answer(fields: &Value, content: Vec<Part>) -> Vec<Part> {
    let list = |name: &str| fields[name].as_array().map_or(&[][..], Vec::as_slice);
    let mut calls: Vec<Part> = list("tool_calls")
        .iter()
        .chain(list("invalid_tool_calls"))
        .map(|made| call(&made["id"], &made["name"], &made["args"]))
        .collect();
    if calls.is_empty() {
        let raw =
            fields["additional_kwargs"]["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        let function = |made: &Value| {
            call(&made["id"], &made["function"]["name"], &made["function"]["arguments"])
        };
        calls = raw.iter().map(function).collect();
    }
    let thought =
        text(&fields["additional_kwargs"]["reasoning_content"]).map(|text| thinking(text, None));
    let (calls_in_content, other): (Vec<Part>, Vec<Part>) =
        content.into_iter().partition(|part| matches!(part.body, Body::Call(_)));
    if calls.is_empty() {
        calls = calls_in_content;
    }
    thought.into_iter().chain(other).chain(calls).collect()
}

fn parts(content: &Value) -> Vec<Part> {
    let Value::Array(list) = content else { return texts(content) };
    list.iter().filter_map(part).collect()
}

fn part(block: &Value) -> Option<Part> {
    if let Some(text) = text(block) {
        return Some(Part::text(text));
    }
    match block["type"].as_str()? {
        "text" | "output_text" => text(&block["text"]).map(Part::text),
        "thinking" => Some(thinking(block["thinking"].as_str()?, string(&block["signature"]))),
        "reasoning" => Some(thinking(block["reasoning"].as_str()?, None)),
        "tool_use" => Some(call(&block["id"], &block["name"], &block["input"])),
        "tool_call" => Some(call(&block["id"], &block["name"], &block["args"])),
        "image_url" => {
            text(&block["image_url"]["url"]).or_else(|| text(&block["image_url"])).map(image_at)
        }
        "image" => {
            let source = &block["source"];
            let inline = image(&source["media_type"], &source["data"])
                .or_else(|| image(&block["mime_type"], &block["base64"]));
            inline.or_else(|| text(&block["url"]).map(image_at))
        }
        _ => None,
    }
}

fn usage(value: &Value) -> Option<Usage> {
    let prompt = count(&value["input_tokens"]);
    let details = &value["input_token_details"];
    (prompt > 0).then(|| Usage {
        prompt,
        cached: count(&details["cache_read"]),
        written: count(&details["cache_creation"]),
        output: count(&value["output_tokens"]),
    })
}
