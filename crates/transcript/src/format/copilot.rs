//! Copilot CLI event logs. The reader takes what the model saw: the transformed prompt, and the
//! text of a result that is meant for the model, not the one for the screen.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Message, Part, Role, Wire};
use waterline::phrase::Phrase;

use super::Lines;
use super::parts::{call, count, result, string, text, thinking, time};
use crate::notice::invalid_json;
use crate::transcript::{Compaction, Entry, Transcript, TranscriptKind, Usage};

pub(super) const NAME: &str = "copilot-cli";

#[derive(Default)]
struct Log {
    id: String,
    model: Option<String>,
    /// The conversations by sub-agent; the main one has an empty name.
    threads: Vec<(String, Transcript)>,
}

/// Recognizes lines with a type, data, an id, a parent and a time.
pub(super) fn lines(fields: &Fields<'_>) -> Option<Box<dyn Lines>> {
    let has = |name: &str| fields.get(name).is_some();
    let kind = fields.get("type").unwrap_or_default();
    let is_event =
        has("data") && has("id") && has("timestamp") && has("parentId") && kind.contains('.');
    is_event.then(|| Box::new(Log::default()) as Box<dyn Lines>)
}

impl Lines for Log {
    fn name(&self) -> &'static str {
        NAME
    }

    fn line(&mut self, line: &Arc<String>) -> Result<Vec<Transcript>, Phrase> {
        let event: Value = serde_json::from_str(line).map_err(|error| invalid_json(&error))?;
        let data = &event["data"];
        let agent =
            text(&event["agentId"]).or_else(|| text(&data["parentToolCallId"])).unwrap_or_default();
        let message = match event["type"].as_str().unwrap_or_default() {
            "session.start" => {
                self.id = string(&data["sessionId"]).unwrap_or_default();
                return Ok(Vec::new());
            }
            "session.model_change" => {
                self.model = self.model.take().or_else(|| string(&data["newModel"]));
                return Ok(Vec::new());
            }
            "session.compaction_complete" => {
                self.compacted(data);
                return Ok(Vec::new());
            }
            "system.message" => text(&data["content"]).map(Message::system),
            "user.message" => text(&data["transformedContent"])
                .or_else(|| text(&data["content"]))
                .map(Message::user),
            "assistant.message" => Some(Message::new(Role::Assistant, answer(data))),
            "tool.execution_complete" => Some(Message::new(Role::Tool, vec![outcome(data)])),
            _ => None,
        };
        if let Some(entry) = message.and_then(|message| self.thread(agent).push(message)) {
            entry.time = time(&event["timestamp"]);
            let output = count(&data["outputTokens"]);
            entry.usage = (output > 0).then(|| Usage { output, ..Usage::default() });
        }
        Ok(Vec::new())
    }

    fn finish(self: Box<Self>) -> Vec<Transcript> {
        let Self { id, model, threads } = *self;
        let finish = |(agent, mut found): (String, Transcript)| {
            found.id.clone_from(&id);
            found.model.clone_from(&model);
            if !agent.is_empty() {
                found.id = format!("{id}/{agent}");
                found.parent = Some(id.clone());
                found.role = TranscriptKind::SubAgent;
            }
            sort_results(&mut found.entries);
            found
        };
        threads.into_iter().map(finish).collect()
    }
}

impl Log {
    fn thread(&mut self, agent: &str) -> &mut Transcript {
        let at = self.threads.iter().position(|(name, _)| name == agent).unwrap_or_else(|| {
            self.threads
                .push((agent.to_owned(), Transcript::new(String::new(), Wire::OPENAI_CHAT)));
            self.threads.len() - 1
        });
        &mut self.threads[at].1
    }

    fn compacted(&mut self, data: &Value) {
        if data["success"] == false {
            return;
        }
        let tokens =
            |name: &str| data[name].as_u64().and_then(|tokens| usize::try_from(tokens).ok());
        let summary = string(&data["summaryContent"]);
        let found = self.thread("");
        found.compactions.push(Compaction {
            at: found.entries.len(),
            before: tokens("preCompactionTokens"),
            after: tokens("postCompactionTokens"),
            trigger: None,
        });
        if let Some(entry) = summary.and_then(|text| found.push(Message::user(text))) {
            entry.is_summary = true;
        }
    }
}

fn answer(data: &Value) -> Vec<Part> {
    let thought = text(&data["reasoningText"]).map(|text| thinking(text, None));
    let content = text(&data["content"]).map(Part::text);
    let requests = data["toolRequests"].as_array().map_or(&[][..], Vec::as_slice);
    let calls = requests
        .iter()
        .map(|request| call(&request["toolCallId"], &request["name"], &request["arguments"]));
    thought.into_iter().chain(content).chain(calls).collect()
}

fn outcome(data: &Value) -> Part {
    let content = text(&data["result"]["content"]).or_else(|| text(&data["error"]["message"]));
    result(
        &data["toolCallId"],
        content.map(Part::text).into_iter().collect(),
        data["success"] == false,
    )
}

/// Sorts results by the order of their calls, as the model gets them. The log has them in the order
/// in which the tools finished.
fn sort_results(entries: &mut [Entry]) {
    let mut order: FxHashMap<String, usize> = FxHashMap::default();
    for entry in entries.iter() {
        for call in entry.message.calls() {
            let next = order.len();
            order.insert(call.id.clone(), next);
        }
    }
    let call_order = |entry: &Entry| {
        entry.message.results().next().and_then(|result| order.get(&result.call_id)).copied()
    };
    for run in
        entries.chunk_by_mut(|a, b| a.message.role == Role::Tool && b.message.role == Role::Tool)
    {
        run.sort_by_key(|entry| call_order(entry));
    }
    for (at, entry) in entries.iter_mut().enumerate() {
        entry.index = at;
    }
}
