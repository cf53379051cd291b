//! The output of `opencode export`: a document of messages with their parts. A tool part is both
//! call and result.

use std::sync::Arc;

use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Message, Part, Role, Wire};
use waterline::phrase::Phrase;

use super::parts::{call, count, image_at, result, string, text, thinking, time};
use crate::notice::invalid_json;
use crate::transcript::{Compaction, Entry, Transcript, TranscriptKind, Usage};

pub(super) const NAME: &str = "opencode";

/// Reads a document with session info and messages.
pub(super) fn document(
    fields: &Fields<'_>,
    text: &Arc<String>,
) -> Option<Result<Vec<Transcript>, Phrase>> {
    let info = fields.get("info").and_then(Fields::parse)?;
    let is_export = info.get("id").is_some() && fields.get("messages").is_some();
    is_export.then(|| {
        let export: Value = serde_json::from_str(text).map_err(|error| invalid_json(&error))?;
        Ok(vec![transcript(&export)])
    })
}

fn transcript(export: &Value) -> Transcript {
    let info = &export["info"];
    let mut found = Transcript::new(string(&info["id"]).unwrap_or_default(), Wire::OPENAI_CHAT);
    found.parent = string(&info["parentID"]);
    if found.parent.is_some() {
        found.role = TranscriptKind::SubAgent;
    }
    for message in export["messages"].as_array().map_or(&[][..], Vec::as_slice) {
        let info = &message["info"];
        let parts = message["parts"].as_array().map_or(&[][..], Vec::as_slice);
        if info["role"] == "user" {
            user(&mut found, info, parts);
        } else {
            found.model = found.model.take().or_else(|| string(&info["modelID"]));
            assistant(&mut found, info, parts);
        }
    }
    found
}

fn user(found: &mut Transcript, info: &Value, parts: &[Value]) {
    if parts.iter().any(|part| part["type"] == "compaction") {
        found.compactions.push(Compaction { at: found.entries.len(), ..Compaction::default() });
    }
    let content: Vec<Part> =
        parts.iter().filter(|part| part["ignored"] != true).filter_map(content_part).collect();
    if !content.is_empty() {
        push(found, info, Message::new(Role::User, content));
    }
}

/// Adds an answer, which may have several steps. Each step is a separate model call, followed by
/// the results of its tools.
fn assistant(found: &mut Transcript, info: &Value, parts: &[Value]) {
    let is_start = |part: &Value| part["type"] == "step-start";
    for step in parts.chunk_by(|_, next| !is_start(next)) {
        let content: Vec<Part> =
            step.iter().filter_map(|part| content_part(part).or_else(|| request(part))).collect();
        if content.is_empty() {
            continue;
        }
        push(found, info, Message::new(Role::Assistant, content));
        if let Some(entry) = found.entries.last_mut() {
            let own = step
                .iter()
                .find(|part| part["type"] == "step-finish")
                .and_then(|part| usage(&part["tokens"]));
            entry.usage = own.or_else(|| usage(&info["tokens"]));
            entry.is_summary = info["summary"] == true;
        }
        let results: Vec<Part> = step.iter().filter_map(outcome).collect();
        if !results.is_empty() {
            push(found, info, Message::new(Role::Tool, results));
        }
    }
}

fn push(found: &mut Transcript, info: &Value, message: Message) {
    let mut entry = Entry::of(message, found.entries.len());
    entry.time = time(&info["time"]["completed"]).or_else(|| time(&info["time"]["created"]));
    found.entries.push(entry);
}

fn content_part(part: &Value) -> Option<Part> {
    match part["type"].as_str()? {
        "text" => text(&part["text"]).map(Part::text),
        "reasoning" => text(&part["text"]).map(|text| thinking(text, None)),
        "file" if part["mime"].as_str()?.starts_with("image/") => text(&part["url"]).map(image_at),
        _ => None,
    }
}

fn request(part: &Value) -> Option<Part> {
    (part["type"] == "tool").then(|| call(&part["callID"], &part["tool"], &part["state"]["input"]))
}

/// Returns the result of a tool, unless it is still running.
fn outcome(part: &Value) -> Option<Part> {
    let state = &part["state"];
    let (output, failed) = match (part["type"].as_str()?, state["status"].as_str()?) {
        ("tool", "completed") => (&state["output"], false),
        ("tool", "error") => (&state["error"], true),
        _ => return None,
    };
    let mut parts: Vec<Part> = text(output).map(Part::text).into_iter().collect();
    let attached = state["attachments"].as_array().map_or(&[][..], Vec::as_slice);
    parts.extend(attached.iter().filter_map(|file| text(&file["url"]).map(image_at)));
    Some(result(&part["callID"], parts, failed))
}

fn usage(tokens: &Value) -> Option<Usage> {
    let cached = count(&tokens["cache"]["read"]);
    let written = count(&tokens["cache"]["write"]);
    let prompt = count(&tokens["input"]) + cached + written;
    let output = count(&tokens["output"]) + count(&tokens["reasoning"]);
    (prompt > 0).then_some(Usage { prompt, cached, written, output })
}
