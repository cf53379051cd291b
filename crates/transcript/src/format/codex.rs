//! Codex rollouts: Responses items, one event per line. The items that one model call produced
//! become one message. A compaction restarts Codex's context, but the earlier messages stay in the
//! file and so in the transcript.

use std::sync::Arc;

use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Message, Role, Wire};
use waterline::phrase::Phrase;
use waterline_provider::wire;

use super::Lines;
use super::parts::{count, string, time};
use crate::notice::invalid_json;
use crate::transcript::{Compaction, Transcript, TranscriptKind, Usage};

pub(super) const NAME: &str = "codex";

struct Rollout {
    found: Transcript,
    /// Whether the last message is an answer that more items may belong to.
    open: bool,
    last_count: Value,
}

/// Recognizes lines with a time, a type and a payload.
pub(super) fn lines(fields: &Fields<'_>) -> Option<Box<dyn Lines>> {
    let has = |name: &str| fields.get(name).is_some();
    let is_event = has("timestamp")
        && has("type")
        && fields.get("payload").is_some_and(|json| json.starts_with('{'));
    is_event.then(|| {
        let found = Transcript::new(String::new(), Wire::OPENAI_RESPONSES);
        Box::new(Rollout { found, open: false, last_count: Value::Null }) as Box<dyn Lines>
    })
}

impl Lines for Rollout {
    fn name(&self) -> &'static str {
        NAME
    }

    fn line(&mut self, text: &Arc<String>) -> Result<Vec<Transcript>, Phrase> {
        let event: Value = serde_json::from_str(text).map_err(|error| invalid_json(&error))?;
        let payload = &event["payload"];
        let time = time(&event["timestamp"]);
        match event["type"].as_str().unwrap_or_default() {
            "session_meta" => self.meta(payload),
            "turn_context" if self.found.model.is_none() => {
                self.found.model = string(&payload["model"])
            }
            "response_item" => {
                let fields =
                    Fields::parse(text).and_then(|fields| fields.get("payload").map(str::to_owned));
                self.item(&fields.unwrap_or_default(), time)?;
            }
            "event_msg" if payload["type"] == "token_count" => self.usage(&payload["info"]),
            "compacted" => self.compacted(payload, time),
            _ => {}
        }
        Ok(Vec::new())
    }

    fn finish(self: Box<Self>) -> Vec<Transcript> {
        if self.found.entries.is_empty() { Vec::new() } else { vec![self.found] }
    }
}

impl Rollout {
    /// Reads the header of a session. It is repeated when the session is resumed.
    fn meta(&mut self, payload: &Value) {
        if !self.found.id.is_empty() {
            return;
        }
        self.found.id = string(&payload["id"]).unwrap_or_else(|| "rollout".to_owned());
        self.found.parent = string(&payload["parent_thread_id"]);
        if self.found.parent.is_some() {
            self.found.role = TranscriptKind::SubAgent;
        }
        if let Some(text) = string(&payload["base_instructions"]["text"]) {
            self.found.push(Message::system(text));
        }
    }

    fn item(&mut self, json: &str, time: Option<i64>) -> Result<(), Phrase> {
        let mut message = wire::message(json, Wire::OPENAI_RESPONSES)?;
        message.extra.clear();
        // Codex's own metadata, which no provider accepts in a request.
        for part in &mut message.parts {
            part.extra.retain(|(name, _)| {
                name != "internal_chat_message_metadata_passthrough" && name != "id"
            });
        }
        let role = message.role;
        let last = self.found.entries.last_mut().filter(|last| last.message.role == role);
        match last {
            Some(last) if self.open && role == Role::Assistant || role == Role::Tool => {
                last.message.parts.append(&mut message.parts);
            }
            _ => {
                if let Some(entry) = self.found.push(message) {
                    entry.time = time;
                }
            }
        }
        self.open = role == Role::Assistant;
        Ok(())
    }

    /// Reads the usage of the last call. The same figures may be repeated, and a compaction reports
    /// only a total.
    fn usage(&mut self, info: &Value) {
        let last = &info["last_token_usage"];
        if *info == self.last_count || count(&last["input_tokens"]) == 0 {
            return;
        }
        self.last_count = info.clone();
        self.open = false;
        let mut answers = self.found.entries.iter_mut().rev();
        if let Some(entry) = answers.find(|entry| entry.message.role == Role::Assistant) {
            entry.usage = Some(Usage {
                prompt: count(&last["input_tokens"]),
                cached: count(&last["cached_input_tokens"]),
                written: 0,
                output: count(&last["output_tokens"]),
            });
        }
    }

    fn compacted(&mut self, payload: &Value, time: Option<i64>) {
        self.open = false;
        let at = self.found.entries.len();
        self.found.compactions.push(Compaction { at, ..Compaction::default() });
        if let Some(text) = string(&payload["message"])
            && let Some(entry) = self.found.push(Message::user(text))
        {
            entry.is_summary = true;
            entry.time = time;
        }
    }
}
