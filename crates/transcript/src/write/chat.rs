//! Writes OpenAI chat messages, with their metadata under `x`: usage, time, and whether the message
//! is a summary.

use serde_json::{Value, json};
use waterline::json;
use waterline::message::{Role, Wire};
use waterline_provider::wire;

use super::head;
use crate::transcript::{Entry, Transcript};

/// Writes a transcript as one line.
pub(super) fn write(transcript: &Transcript) -> String {
    let mut messages: Vec<String> = Vec::new();
    let mut positions: Vec<usize> = Vec::new();
    for entry in &transcript.entries {
        positions.push(messages.len());
        if !entry.message.parts.is_empty() {
            messages.extend(texts(entry));
        }
    }
    let compactions: Vec<Value> = transcript
        .compactions
        .iter()
        .map(|compaction| {
            let at = positions.get(compaction.at).copied().unwrap_or(messages.len());
            json!({
                "at": at, "pre_tokens": compaction.before, "trigger": compaction.trigger,
            })
        })
        .collect();
    let compactions =
        (!compactions.is_empty()).then(|| ("compactions", Value::Array(compactions).to_string()));
    let tools = wire::tools(Wire::OPENAI_CHAT, &transcript.tools).map(|tools| ("tools", tools));
    let list = [("messages", json::array(messages))];
    json::one_line(&json::object(head(transcript).chain(compactions).chain(list).chain(tools)))
        .into_owned()
}

/// Renders an entry, which may be several messages on this wire: one per result.
fn texts(entry: &Entry) -> Vec<String> {
    let rendered = wire::render(Wire::OPENAI_CHAT, &[&entry.message]);
    let mut texts: Vec<String> = rendered.texts().into_iter().map(str::to_owned).collect();
    if let Some(metadata) = metadata(entry)
        && let Some(last) = texts.last_mut()
        && let Some(open) = last.trim_end().strip_suffix('}')
    {
        *last = format!("{open},\"x\":{metadata}}}");
    }
    texts
}

/// Returns the metadata of a message, unless the message already has an `x` field.
fn metadata(entry: &Entry) -> Option<Value> {
    if entry.message.extra.iter().any(|(name, _)| name == "x") {
        return None;
    }
    let mut metadata = serde_json::Map::new();
    if let Some(usage) = entry.usage.filter(|_| entry.message.role == Role::Assistant) {
        let usage = json!({
            "in": usage.prompt, "out": usage.output, "cached": usage.cached,
            "written": usage.written,
        });
        metadata.insert("usage".into(), usage);
    }
    if entry.is_summary {
        metadata.insert("kind".into(), json!("compact_summary"));
    }
    if let Some(time) = entry.time {
        metadata.insert("time".into(), json!(time));
    }
    (!metadata.is_empty()).then_some(Value::Object(metadata))
}
