//! Gemini CLI sessions: a JSON document of messages, or lines that build it (`$set`, `$rewindTo`,
//! and messages that are written again when they change).

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Body, Message, Part, Role, Wire};
use waterline::phrase::Phrase;

use super::Lines;
use super::parts::{call, count, image, result, string, text, thinking, time};
use crate::notice::invalid_json;
use crate::transcript::{Compaction, Transcript, TranscriptKind, Usage};

pub(super) const NAME: &str = "gemini-cli";

#[derive(Default)]
struct Session {
    head: Value,
    messages: Vec<Value>,
    /// The index of each message, by its id.
    indexes: FxHashMap<String, usize>,
    /// The number of messages in the program's own list: all of them, until it is rewritten.
    listed: usize,
    /// The indexes at which the program replaced its list with a shorter one.
    rewrites: Vec<usize>,
}

/// Recognizes the header, which is the first line.
pub(super) fn lines(fields: &Fields<'_>) -> Option<Box<dyn Lines>> {
    let is_header = fields.get("sessionId").is_some() && fields.get("projectHash").is_some();
    (is_header && fields.get("messages").is_none())
        .then(|| Box::new(Session::default()) as Box<dyn Lines>)
}

/// Reads a document, which has the fields of the header and the messages.
pub(super) fn document(
    fields: &Fields<'_>,
    text: &Arc<String>,
) -> Option<Result<Vec<Transcript>, Phrase>> {
    let is_session = fields.get("sessionId").is_some() && fields.get("projectHash").is_some();
    is_session.then(|| {
        let head: Value = serde_json::from_str(text).map_err(|error| invalid_json(&error))?;
        let messages = head["messages"].as_array().cloned().unwrap_or_default();
        Ok(vec![Session { head, messages, ..Session::default() }.transcript()])
    })
}

impl Lines for Session {
    fn name(&self) -> &'static str {
        NAME
    }

    fn line(&mut self, line: &Arc<String>) -> Result<Vec<Transcript>, Phrase> {
        let value: Value = serde_json::from_str(line).map_err(|error| invalid_json(&error))?;
        if let Some(target) = value.get("$rewindTo") {
            self.rewind(text(target).and_then(|id| self.indexes.get(id)).copied().unwrap_or(0));
        } else if let Some(id) = string(&value["id"]) {
            self.put(id, value);
        } else if let Some(set) = value.get("$set") {
            if let Some(list) = set["messages"].as_array() {
                self.rewrite(list);
            }
        } else if value["sessionId"].is_string() {
            self.head = value;
        }
        Ok(Vec::new())
    }

    fn finish(self: Box<Self>) -> Vec<Transcript> {
        if self.messages.is_empty() { Vec::new() } else { vec![self.transcript()] }
    }
}

impl Session {
    /// Adds a message, or replaces it: a message is written again when it changes.
    fn put(&mut self, id: String, message: Value) {
        match self.indexes.get(&id).and_then(|&at| self.messages.get_mut(at)) {
            Some(known) => *known = message,
            None => {
                self.indexes.insert(id, self.messages.len());
                self.messages.push(message);
                self.listed += 1;
            }
        }
    }

    fn rewind(&mut self, at: usize) {
        self.listed = self.listed.saturating_sub(self.messages.len() - at);
        self.messages.truncate(at);
        self.indexes.retain(|_, index| *index < at);
        self.rewrites.retain(|&rewrite| rewrite < at);
    }

    /// Handles a rewritten list: earlier messages stay, and new ones in the list are appended.
    fn rewrite(&mut self, list: &[Value]) {
        if list.len() < self.listed {
            self.rewrites.push(self.messages.len());
        }
        for message in list {
            match string(&message["id"]) {
                Some(id) if self.indexes.contains_key(&id) => {}
                Some(id) => self.put(id, message.clone()),
                None => self.messages.push(message.clone()),
            }
        }
        self.listed = list.len();
    }

    fn transcript(self) -> Transcript {
        let mut found =
            Transcript::new(string(&self.head["sessionId"]).unwrap_or_default(), Wire::GEMINI);
        if self.head["kind"] == "subagent" {
            found.role = TranscriptKind::SubAgent;
        }
        let mut answered: FxHashSet<String> = FxHashSet::default();
        for (at, message) in self.messages.iter().enumerate() {
            if self.rewrites.contains(&at) {
                found
                    .compactions
                    .push(Compaction { at: found.entries.len(), ..Compaction::default() });
            }
            found.model = found.model.or_else(|| string(&message["model"]));
            let time = time(&message["timestamp"]);
            let (content, results) = read(message, &mut answered);
            for message_read in [content, results].into_iter().flatten() {
                let is_answer = message_read.role == Role::Assistant;
                if let Some(entry) = found.push(message_read) {
                    entry.time = time;
                    entry.usage = if is_answer { usage(&message["tokens"]) } else { None };
                    entry.is_summary = self.rewrites.iter().any(|&rewrite| at >= rewrite)
                        && is_snapshot(&entry.message);
                }
            }
        }
        found
    }
}

/// Returns the message, and the results that are stored inside it as another message.
fn read(message: &Value, answered: &mut FxHashSet<String>) -> (Option<Message>, Option<Message>) {
    let content = parts(&message["content"]);
    let (results, other): (Vec<Part>, Vec<Part>) = content.into_iter().partition(is_result);
    match message["type"].as_str().unwrap_or_default() {
        "user" => {
            let results: Vec<Part> =
                results.into_iter().filter(|part| is_new(part, answered)).collect();
            let results = (!results.is_empty()).then(|| Message::new(Role::Tool, results));
            ((!other.is_empty()).then(|| Message::new(Role::User, other)), results)
        }
        "gemini" => {
            let calls = message["toolCalls"].as_array().map_or(&[][..], Vec::as_slice);
            let known: Vec<String> = other.iter().filter_map(call_id).collect();
            let further_calls = calls
                .iter()
                .filter(|call| text(&call["id"]).is_none_or(|id| !known.iter().any(|k| k == id)))
                .map(|made| call(&made["id"], &made["name"], &made["args"]));
            let answer: Vec<Part> = thoughts(message).chain(other).chain(further_calls).collect();
            let results: Vec<Part> =
                calls.iter().filter_map(outcome).filter(|part| is_new(part, answered)).collect();
            let results = (!results.is_empty()).then(|| Message::new(Role::Tool, results));
            (Some(Message::new(Role::Assistant, answer)), results)
        }
        _ => (None, None),
    }
}

/// Returns the thoughts of a message. Thoughts that are later than the message were copied there by
/// mistake and are skipped.
fn thoughts(message: &Value) -> impl Iterator<Item = Part> {
    let message_time = time(&message["timestamp"]);
    let list = message["thoughts"].as_array().map_or(&[][..], Vec::as_slice);
    let own = list.iter().filter(move |thought| time(&thought["timestamp"]) <= message_time);
    own.map(|thought| {
        let subject = text(&thought["subject"])
            .map_or_else(String::new, |subject| format!("**{subject}**\n\n"));
        let description = thought["description"].as_str().unwrap_or_default();
        thinking(&format!("{subject}{description}"), None)
    })
}

/// Reads content that is a string, a part or a list of parts.
fn parts(content: &Value) -> Vec<Part> {
    match content {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![Part::text(text)],
        Value::Array(list) => list.iter().flat_map(parts).collect(),
        Value::Object(_) => part(content).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn part(value: &Value) -> Option<Part> {
    let made = &value["functionCall"];
    let response = &value["functionResponse"];
    let data = &value["inlineData"];
    if made.is_object() {
        Some(call(&made["id"], &made["name"], &made["args"]))
    } else if response.is_object() {
        Some(answer(&response["id"], &response["response"], false))
    } else if data.is_object() {
        image(&data["mimeType"], &data["data"])
    } else if value["thought"] == true {
        Some(thinking(value["text"].as_str()?, string(&value["thoughtSignature"])))
    } else {
        text(&value["text"]).map(Part::text)
    }
}

/// Returns the result that is stored with a call.
fn outcome(call: &Value) -> Option<Part> {
    let failed = !matches!(call["status"].as_str(), Some("success") | None);
    let stored = match &call["result"] {
        Value::Array(list) => list.as_slice(),
        other => std::slice::from_ref(other),
    };
    let response = stored
        .iter()
        .map(|part| &part["functionResponse"]["response"])
        .find(|response| !response.is_null());
    let Some(response) = response else {
        // A call that failed before its tool ran has only the text that was shown.
        let shown = text(&call["resultDisplay"]).filter(|_| failed)?;
        return Some(result(&call["id"], vec![Part::text(shown)], true));
    };
    let mut part = answer(&call["id"], response, failed);
    if let Body::Result(result) = &mut part.body {
        let data = stored.iter().map(|part| &part["inlineData"]);
        result.parts.extend(data.filter_map(|data| image(&data["mimeType"], &data["data"])));
    }
    Some(part)
}

fn answer(id: &Value, response: &Value, failed: bool) -> Part {
    let is_error =
        !matches!(&response["error"], Value::Null | Value::Bool(false)) && response["error"] != "";
    let content = match text(&response["error"]).or_else(|| text(&response["output"])) {
        Some(content) => content.to_owned(),
        None if response["output"] == "" && !is_error => String::new(),
        None => response.to_string(),
    };
    let parts = if content.is_empty() { Vec::new() } else { vec![Part::text(content)] };
    result(id, parts, failed || is_error)
}

fn is_result(part: &Part) -> bool {
    matches!(part.body, Body::Result(_))
}

fn call_id(part: &Part) -> Option<String> {
    match &part.body {
        Body::Call(call) => Some(call.id.clone()),
        _ => None,
    }
}

/// Returns whether a result is new: a rewritten list repeats the results stored with the calls.
fn is_new(part: &Part, answered: &mut FxHashSet<String>) -> bool {
    match &part.body {
        Body::Result(result) => {
            result.call_id.is_empty() || answered.insert(result.call_id.clone())
        }
        _ => true,
    }
}

fn is_snapshot(message: &Message) -> bool {
    message.role == Role::User && message.texts().any(|text| text.contains("<state_snapshot>"))
}

fn usage(tokens: &Value) -> Option<Usage> {
    let prompt = count(&tokens["input"]);
    let cached = count(&tokens["cached"]);
    let output = count(&tokens["output"]) + count(&tokens["thoughts"]);
    (prompt > 0).then_some(Usage { prompt, cached, written: 0, output })
}
