//! pi session files: a header, then entries. Since version 3 they are a tree linked by `parentId`,
//! before that a list.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Message, Part, Role, Wire};
use waterline::phrase::Phrase;

use super::Lines;
use super::parts::{call, count, image, result, string, text, texts, thinking, time};
use crate::notice::invalid_json;
use crate::transcript::{Compaction, Entry, Transcript, TranscriptKind, Usage};

pub(super) const NAME: &str = "pi";

#[derive(Default)]
struct Session {
    id: String,
    model: Option<String>,
    parent: Option<String>,
    nodes: Vec<Node>,
}

struct Node {
    id: Option<String>,
    parent: Option<String>,
    entry: Option<Entry>,
    compaction: Option<Compaction>,
}

/// Recognizes the header, which is the first line.
pub(super) fn lines(fields: &Fields<'_>) -> Option<Box<dyn Lines>> {
    let is_header = fields.get("type") == Some("\"session\"") && fields.get("cwd").is_some();
    is_header.then(|| Box::new(Session::default()) as Box<dyn Lines>)
}

impl Lines for Session {
    fn name(&self) -> &'static str {
        NAME
    }

    fn line(&mut self, line: &Arc<String>) -> Result<Vec<Transcript>, Phrase> {
        let event: Value = serde_json::from_str(line).map_err(|error| invalid_json(&error))?;
        let mut node = Node {
            id: string(&event["id"]),
            parent: string(&event["parentId"]),
            entry: None,
            compaction: None,
        };
        match event["type"].as_str().unwrap_or_default() {
            "session" => {
                self.id = string(&event["id"]).unwrap_or_default();
                self.model = string(&event["modelId"]);
                self.parent =
                    string(&event["parentSession"]).or_else(|| string(&event["branchedFrom"]));
                return Ok(Vec::new());
            }
            "message" => node.entry = entry(&event),
            "custom_message" => {
                node.entry = Some(Entry::of(Message::new(Role::User, texts(&event["content"])), 0));
            }
            "compaction" | "branch_summary" => {
                let mut entry = Entry::of(Message::new(Role::User, texts(&event["summary"])), 0);
                entry.is_summary = true;
                entry.time = time(&event["timestamp"]);
                node.entry = Some(entry);
                let before = Some(count(&event["tokensBefore"])).filter(|&tokens| tokens > 0);
                node.compaction = (event["type"] == "compaction")
                    .then(|| Compaction { before, ..Compaction::default() });
            }
            "model_change" if self.model.is_none() => self.model = string(&event["modelId"]),
            _ => {}
        }
        self.nodes.push(node);
        Ok(Vec::new())
    }

    fn finish(self: Box<Self>) -> Vec<Transcript> {
        let is_tree = self.nodes.iter().any(|node| node.id.is_some());
        if !is_tree {
            let all: Vec<usize> = (0..self.nodes.len()).collect();
            return self.transcript(self.id.clone(), &all).into_iter().collect();
        }
        self.branches()
    }
}

impl Session {
    /// Returns the main path, which leads to the last entry, and the abandoned branches.
    fn branches(&self) -> Vec<Transcript> {
        let indexes: FxHashMap<&str, usize> = self
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(at, node)| Some((node.id.as_deref()?, at)))
            .collect();
        let mut seen: FxHashSet<usize> = FxHashSet::default();
        let mut found: Vec<Transcript> = Vec::new();
        for leaf in (0..self.nodes.len())
            .rev()
            .filter(|&at| self.nodes.get(at).is_some_and(|node| node.entry.is_some()))
        {
            if seen.contains(&leaf) {
                continue;
            }
            let mut path = Vec::new();
            let mut visited = FxHashSet::default();
            let mut at = Some(leaf);
            while let Some(here) = at.filter(|here| visited.insert(*here)) {
                path.push(here);
                at = self
                    .nodes
                    .get(here)
                    .and_then(|node| indexes.get(node.parent.as_deref()?))
                    .copied();
            }
            path.reverse();
            seen.extend(path.iter().copied());
            let is_main = found.is_empty();
            let id = if is_main {
                self.id.clone()
            } else {
                format!("{}/branch-{}", self.id, found.len())
            };
            found.extend(self.transcript(id, &path).map(|mut transcript| {
                if !is_main {
                    transcript.role = TranscriptKind::Branch;
                    transcript.parent = Some(self.id.clone());
                }
                transcript
            }));
        }
        found
    }

    fn transcript(&self, id: String, path: &[usize]) -> Option<Transcript> {
        let mut found = Transcript::new(id, Wire::OPENAI_CHAT);
        found.model.clone_from(&self.model);
        found.parent.clone_from(&self.parent);
        for node in path.iter().filter_map(|&at| self.nodes.get(at)) {
            let at = found.entries.len();
            found
                .compactions
                .extend(node.compaction.clone().map(|compaction| Compaction { at, ..compaction }));
            found.entries.extend(node.entry.clone().map(|entry| Entry { index: at, ..entry }));
        }
        (!found.entries.is_empty()).then_some(found)
    }
}

fn entry(event: &Value) -> Option<Entry> {
    let message = &event["message"];
    let content = parts(&message["content"]);
    let read = match message["role"].as_str()? {
        "user" => Message::new(Role::User, content),
        "assistant" => Message::new(Role::Assistant, content),
        "toolResult" => {
            let is_error = message["isError"] == true;
            Message::new(Role::Tool, vec![result(&message["toolCallId"], content, is_error)])
        }
        // A command that the user ran in the session, with its output.
        "bashExecution" => {
            let command = text(&message["command"]).unwrap_or_default();
            let output = text(&message["output"]).unwrap_or_default();
            Message::user(format!("$ {command}\n{output}"))
        }
        _ => return None,
    };
    let mut entry = Entry::of(read, 0);
    entry.time = time(&event["timestamp"]).or_else(|| time(&message["timestamp"]));
    entry.usage = usage(&message["usage"]);
    Some(entry)
}

fn parts(content: &Value) -> Vec<Part> {
    let Value::Array(blocks) = content else { return texts(content) };
    let part = |block: &Value| match block["type"].as_str()? {
        "text" => text(&block["text"]).map(Part::text),
        "thinking" => {
            Some(thinking(block["thinking"].as_str()?, string(&block["thinkingSignature"])))
        }
        "toolCall" => Some(call(&block["id"], &block["name"], &block["arguments"])),
        "image" => image(&block["mimeType"], &block["data"]),
        _ => None,
    };
    blocks.iter().filter_map(part).collect()
}

fn usage(value: &Value) -> Option<Usage> {
    let cached = count(&value["cacheRead"]);
    let written = count(&value["cacheWrite"]);
    let prompt = count(&value["input"]) + cached + written;
    (prompt > 0).then(|| Usage { prompt, cached, written, output: count(&value["output"]) })
}
