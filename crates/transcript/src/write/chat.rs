//! OpenAI chat messages, with what the transcript knows beside them under `x`: usage, times, which
//! messages are summaries.

use serde_json::{Value, json};
use waterline::json;
use waterline::message::{Role, Wire};
use waterline_provider::wire;

use super::head;
use crate::transcript::{Entry, Transcript};

/// The line of a transcript.
pub(super) fn write(transcript: &Transcript) -> String {
    let mut messages: Vec<String> = Vec::new();
    let mut places: Vec<usize> = Vec::new();
    for entry in &transcript.entries {
        places.push(messages.len());
        if !entry.message.parts.is_empty() {
            messages.extend(texts(entry));
        }
    }
    let cuts: Vec<Value> = transcript
        .compactions
        .iter()
        .map(|cut| {
            let at = places.get(cut.at).copied().unwrap_or(messages.len());
            json!({"at": at, "pre_tokens": cut.before, "trigger": cut.trigger})
        })
        .collect();
    let cuts = (!cuts.is_empty()).then(|| ("compactions", Value::Array(cuts).to_string()));
    let tools = wire::tools(Wire::OPENAI_CHAT, &transcript.tools).map(|tools| ("tools", tools));
    let list = [("messages", json::array(messages))];
    json::one_line(&json::object(head(transcript).chain(cuts).chain(list).chain(tools)))
        .into_owned()
}

/// One entry may be several messages on this wire: a result each.
fn texts(entry: &Entry) -> Vec<String> {
    let rendered = wire::render(Wire::OPENAI_CHAT, &[&entry.message]);
    let mut texts: Vec<String> = rendered.texts().into_iter().map(str::to_owned).collect();
    if let Some(beside) = beside(entry)
        && let Some(last) = texts.last_mut()
        && let Some(open) = last.trim_end().strip_suffix('}')
    {
        *last = format!("{open},\"x\":{beside}}}");
    }
    texts
}

/// What is known beside a message, unless it stands there already.
fn beside(entry: &Entry) -> Option<Value> {
    if entry.message.extra.iter().any(|(name, _)| name == "x") {
        return None;
    }
    let mut beside = serde_json::Map::new();
    if let Some(usage) = entry.usage.filter(|_| entry.message.role == Role::Assistant) {
        let (cached, written) = (usage.cached, usage.written);
        beside.insert(
            "usage".into(),
            json!({"in": usage.prompt, "out": usage.output, "cached": cached, "written": written}),
        );
    }
    if entry.is_summary {
        beside.insert("kind".into(), json!("compact_summary"));
    }
    if let Some(time) = entry.time {
        beside.insert("time".into(), json!(time));
    }
    (!beside.is_empty()).then_some(Value::Object(beside))
}
