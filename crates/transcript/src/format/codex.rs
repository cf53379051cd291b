//! Codex rollouts: Responses items, one event a line. What one model call produced is one message
//! here; a compaction restarts Codex's own context, while everything said before it stays in the
//! file and so in the transcript.

use std::sync::Arc;

use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Message, Role, Wire};
use waterline_provider::wire;

use super::Lines;
use super::parts::{count, time, word};
use crate::transcript::{Compaction, Standing, Transcript, Usage};

pub(super) const NAME: &str = "codex";

struct Rollout {
    found: Transcript,
    /// The answer that is still being told: its results close it.
    open: bool,
    last_count: Value,
}

/// Every line has a time, a type and a payload.
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

    fn line(&mut self, text: &Arc<String>) -> Result<Vec<Transcript>, String> {
        let event: Value =
            serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        let payload = &event["payload"];
        let time = time(&event["timestamp"]);
        match event["type"].as_str().unwrap_or_default() {
            "session_meta" => self.meta(payload),
            "turn_context" if self.found.model.is_none() => {
                self.found.model = word(&payload["model"])
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
    /// The head of a session; it is repeated whenever the session is resumed.
    fn meta(&mut self, payload: &Value) {
        if !self.found.id.is_empty() {
            return;
        }
        self.found.id = word(&payload["id"]).unwrap_or_else(|| "rollout".to_owned());
        self.found.parent = word(&payload["parent_thread_id"]);
        if self.found.parent.is_some() {
            self.found.role = Standing::SubAgent;
        }
        if let Some(text) = word(&payload["base_instructions"]["text"]) {
            self.found.push(Message::system(text));
        }
    }

    fn item(&mut self, json: &str, time: Option<i64>) -> Result<(), String> {
        let mut message = wire::message(json, Wire::OPENAI_RESPONSES)?;
        message.extra.clear();
        // Notes of the program beside what was said; no provider takes them back.
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

    /// What the last call cost. The same figures may be told twice, and a compaction tells a total
    /// alone.
    fn usage(&mut self, info: &Value) {
        let last = &info["last_token_usage"];
        if *info == self.last_count || count(&last["input_tokens"]) == 0 {
            return;
        }
        self.last_count = info.clone();
        self.open = false;
        let mut answers = self.found.entries.iter_mut().rev();
        if let Some(entry) = answers.find(|entry| entry.message.role == Role::Assistant) {
            let (prompt, cached) =
                (count(&last["input_tokens"]), count(&last["cached_input_tokens"]));
            entry.usage =
                Some(Usage { prompt, cached, written: 0, output: count(&last["output_tokens"]) });
        }
    }

    fn compacted(&mut self, payload: &Value, time: Option<i64>) {
        self.open = false;
        let at = self.found.entries.len();
        self.found.compactions.push(Compaction { at, ..Compaction::default() });
        if let Some(text) = word(&payload["message"])
            && let Some(entry) = self.found.push(Message::user(text))
        {
            entry.is_summary = true;
            entry.time = time;
        }
    }
}
