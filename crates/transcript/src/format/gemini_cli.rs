//! Gemini CLI's sessions: a JSON document of messages, or lines that build it up (`$set`,
//! `$rewindTo`, and messages that are written again whenever they change).

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Body, Message, Part, Role, Wire};

use super::Lines;
use super::parts::{call, count, picture, result, text, thinking, time, word};
use crate::transcript::{Compaction, Standing, Transcript, Usage};

pub(super) const NAME: &str = "gemini-cli";

#[derive(Default)]
struct Session {
    head: Value,
    messages: Vec<Value>,
    places: FxHashMap<String, usize>,
    /// How many messages the program's own list has; all, until it is rewritten.
    listed: usize,
    /// The places at which the program rewrote its list to a shorter one.
    cuts: Vec<usize>,
}

/// Lines begin with a header.
pub(super) fn lines(fields: &Fields<'_>) -> Option<Box<dyn Lines>> {
    let is_header = fields.get("sessionId").is_some() && fields.get("projectHash").is_some();
    (is_header && fields.get("messages").is_none())
        .then(|| Box::new(Session::default()) as Box<dyn Lines>)
}

/// A document has the header and the messages in one.
pub(super) fn document(
    fields: &Fields<'_>,
    text: &Arc<String>,
) -> Option<Result<Vec<Transcript>, String>> {
    let is_one = fields.get("sessionId").is_some() && fields.get("projectHash").is_some();
    is_one.then(|| {
        let head: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let messages = head["messages"].as_array().cloned().unwrap_or_default();
        Ok(vec![Session { head, messages, ..Session::default() }.transcript()])
    })
}

impl Lines for Session {
    fn name(&self) -> &'static str {
        NAME
    }

    fn line(&mut self, line: &Arc<String>) -> Result<Vec<Transcript>, String> {
        let value: Value =
            serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
        if let Some(target) = value.get("$rewindTo") {
            self.rewind(text(target).and_then(|id| self.places.get(id)).copied().unwrap_or(0));
        } else if let Some(id) = word(&value["id"]) {
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
    /// A message is written again whenever it changes; it keeps its place.
    fn put(&mut self, id: String, message: Value) {
        match self.places.get(&id).and_then(|&at| self.messages.get_mut(at)) {
            Some(known) => *known = message,
            None => {
                self.places.insert(id, self.messages.len());
                self.messages.push(message);
                self.listed += 1;
            }
        }
    }

    fn rewind(&mut self, at: usize) {
        self.listed = self.listed.saturating_sub(self.messages.len() - at);
        self.messages.truncate(at);
        self.places.retain(|_, place| *place < at);
        self.cuts.retain(|&cut| cut < at);
    }

    /// The program rewrote its list. What was said stays; what is new in the list comes behind it.
    fn rewrite(&mut self, list: &[Value]) {
        if list.len() < self.listed {
            self.cuts.push(self.messages.len());
        }
        for message in list {
            match word(&message["id"]) {
                Some(id) if self.places.contains_key(&id) => {}
                Some(id) => self.put(id, message.clone()),
                None => self.messages.push(message.clone()),
            }
        }
        self.listed = list.len();
    }

    fn transcript(self) -> Transcript {
        let mut found =
            Transcript::new(word(&self.head["sessionId"]).unwrap_or_default(), Wire::GEMINI);
        if self.head["kind"] == "subagent" {
            found.role = Standing::SubAgent;
        }
        let mut answered: FxHashSet<String> = FxHashSet::default();
        for (at, message) in self.messages.iter().enumerate() {
            if self.cuts.contains(&at) {
                found
                    .compactions
                    .push(Compaction { at: found.entries.len(), ..Compaction::default() });
            }
            found.model = found.model.or_else(|| word(&message["model"]));
            let time = time(&message["timestamp"]);
            let (said, results) = read(message, &mut answered);
            for said in [said, results].into_iter().flatten() {
                let is_answer = said.role == Role::Assistant;
                if let Some(entry) = found.push(said) {
                    entry.time = time;
                    entry.usage = if is_answer { usage(&message["tokens"]) } else { None };
                    entry.is_summary =
                        self.cuts.iter().any(|&cut| at >= cut) && is_snapshot(&entry.message);
                }
            }
        }
        found
    }
}

/// What a message says, and the results that are stored inside it.
fn read(message: &Value, answered: &mut FxHashSet<String>) -> (Option<Message>, Option<Message>) {
    let content = parts(&message["content"]);
    let (results, said): (Vec<Part>, Vec<Part>) = content.into_iter().partition(is_result);
    match message["type"].as_str().unwrap_or_default() {
        "user" => {
            let results: Vec<Part> =
                results.into_iter().filter(|part| is_new(part, answered)).collect();
            let results = (!results.is_empty()).then(|| Message::new(Role::Tool, results));
            ((!said.is_empty()).then(|| Message::new(Role::User, said)), results)
        }
        "gemini" => {
            let calls = message["toolCalls"].as_array().map_or(&[][..], Vec::as_slice);
            let known: Vec<String> = said.iter().filter_map(call_id).collect();
            let told = calls
                .iter()
                .filter(|call| text(&call["id"]).is_none_or(|id| !known.iter().any(|k| k == id)));
            let told = told.map(|made| call(&made["id"], &made["name"], &made["args"]));
            let answer: Vec<Part> = thoughts(message).chain(said).chain(told).collect();
            let results: Vec<Part> =
                calls.iter().filter_map(outcome).filter(|part| is_new(part, answered)).collect();
            let results = (!results.is_empty()).then(|| Message::new(Role::Tool, results));
            (Some(Message::new(Role::Assistant, answer)), results)
        }
        _ => (None, None),
    }
}

/// Thoughts with a later time than their message were copied there by mistake.
fn thoughts(message: &Value) -> impl Iterator<Item = Part> {
    let said = time(&message["timestamp"]);
    let list = message["thoughts"].as_array().map_or(&[][..], Vec::as_slice);
    let in_time = list.iter().filter(move |thought| time(&thought["timestamp"]) <= said);
    in_time.map(|thought| {
        let (subject, words) = (&thought["subject"], &thought["description"]);
        let subject =
            text(subject).map_or_else(String::new, |subject| format!("**{subject}**\n\n"));
        thinking(&format!("{subject}{}", words.as_str().unwrap_or_default()), None)
    })
}

/// Content is a text, a part or a list of parts.
fn parts(content: &Value) -> Vec<Part> {
    match content {
        Value::String(words) if words.is_empty() => Vec::new(),
        Value::String(words) => vec![Part::text(words)],
        Value::Array(list) => list.iter().flat_map(parts).collect(),
        Value::Object(_) => part(content).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn part(value: &Value) -> Option<Part> {
    let (made, response, data) =
        (&value["functionCall"], &value["functionResponse"], &value["inlineData"]);
    if made.is_object() {
        Some(call(&made["id"], &made["name"], &made["args"]))
    } else if response.is_object() {
        Some(answer(&response["id"], &response["response"], false))
    } else if data.is_object() {
        picture(&data["mimeType"], &data["data"])
    } else if value["thought"] == true {
        Some(thinking(value["text"].as_str()?, word(&value["thoughtSignature"])))
    } else {
        text(&value["text"]).map(Part::text)
    }
}

/// The result that is stored with a call.
fn outcome(call: &Value) -> Option<Part> {
    let failed = !matches!(call["status"].as_str(), Some("success") | None);
    let stored = match &call["result"] {
        Value::Array(list) => list.as_slice(),
        other => std::slice::from_ref(other),
    };
    let response = stored
        .iter()
        .map(|part| &part["functionResponse"]["response"])
        .find(|told| !told.is_null())?;
    let mut told = answer(&call["id"], response, failed);
    if let Body::Result(result) = &mut told.body {
        let data = stored.iter().map(|part| &part["inlineData"]);
        result.parts.extend(data.filter_map(|data| picture(&data["mimeType"], &data["data"])));
    }
    Some(told)
}

fn answer(id: &Value, response: &Value, failed: bool) -> Part {
    let error = text(&response["error"]);
    let words = error
        .or_else(|| text(&response["output"]))
        .map_or_else(|| response.to_string(), str::to_owned);
    let words = if response["output"] == "" { String::new() } else { words };
    let parts = if words.is_empty() { Vec::new() } else { vec![Part::text(words)] };
    result(id, parts, failed || error.is_some())
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

/// A rewritten list repeats results that the calls carry already.
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
    let (prompt, cached) = (count(&tokens["input"]), count(&tokens["cached"]));
    let output = count(&tokens["output"]) + count(&tokens["thoughts"]);
    (prompt > 0).then_some(Usage { prompt, cached, written: 0, output })
}
