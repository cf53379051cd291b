//! Claude Code session files: one event per line, a tree linked by `parentUuid`. The conversation
//! is the path from the root to the newest message, not the order of the lines.
//!
//! Following the parents is not enough: a compaction starts a new root, with its parent in another
//! field; one answer is stored as several lines with the same `message.id`; and the results of
//! parallel calls are side branches of the path.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Body, Message, Role, Wire};
use waterline::phrase::Phrase;
use waterline_provider::wire;

use super::Lines;
use super::parts::{count, string, time};
use crate::notice::invalid_json;
use crate::transcript::{Compaction, Entry, Transcript, TranscriptKind, Usage};

pub(super) const NAME: &str = "claude-code";

/// One line of the tree.
#[derive(Default)]
struct Node {
    uuid: String,
    parent: Option<String>,
    /// The sub-agent it belongs to; empty for a sub-agent without an id.
    agent: Option<String>,
    message: Option<Message>,
    /// The provider's id of the answer that this line is a part of.
    answer: Option<String>,
    time: Option<i64>,
    usage: Option<Usage>,
    is_summary: bool,
    compaction: Option<Compaction>,
}

#[derive(Default)]
struct Session {
    id: Option<String>,
    model: Option<String>,
    nodes: Vec<Node>,
    /// The index of each node, by its uuid.
    indexes: FxHashMap<String, usize>,
}

/// Recognizes lines that have a parent and a session.
pub(super) fn lines(fields: &Fields<'_>) -> Option<Box<dyn Lines>> {
    let has = |name: &str| fields.get(name).is_some();
    let is_event = has("parentUuid") && has("sessionId") && (has("isSidechain") || has("message"));
    // Qwen's sessions look the same but have Gemini-style parts; they are another format.
    let is_qwen = fields
        .get("message")
        .and_then(Fields::parse)
        .is_some_and(|message| message.get("parts").is_some());
    (is_event && !is_qwen).then(|| Box::new(Session::default()) as Box<dyn Lines>)
}

impl Lines for Session {
    fn name(&self) -> &'static str {
        NAME
    }

    fn line(&mut self, text: &Arc<String>) -> Result<Vec<Transcript>, Phrase> {
        let event: Value = serde_json::from_str(text).map_err(|error| invalid_json(&error))?;
        if self.id.is_none() {
            self.id = string(&event["sessionId"]);
        }
        // A repeated line counts once.
        let uuid = string(&event["uuid"]).filter(|uuid| !self.indexes.contains_key(uuid));
        let Some(uuid) = uuid else {
            return Ok(Vec::new());
        };
        let message = match event["type"].as_str() {
            Some("user" | "assistant") if event["isApiErrorMessage"] != true => message_of(text),
            _ => Ok(None),
        };
        // A line whose message is invalid is still a node of the tree.
        let (message, error) = match message {
            Ok(message) => (message, None),
            Err(error) => (None, Some(error)),
        };
        let fields = &event["message"];
        if self.model.is_none() {
            self.model = string(&fields["model"]).filter(|model| !model.starts_with('<'));
        }
        let is_boundary = event["subtype"] == "compact_boundary";
        let node = Node {
            parent: string(&event["parentUuid"]).or_else(|| string(&event["logicalParentUuid"])),
            agent: (event["isSidechain"] == true)
                .then(|| string(&event["agentId"]).unwrap_or_default()),
            message,
            answer: string(&fields["id"]),
            time: time(&event["timestamp"]),
            usage: usage(&fields["usage"]),
            is_summary: event["isCompactSummary"] == true,
            compaction: is_boundary.then(|| compaction(&event["compactMetadata"])),
            uuid,
        };
        self.indexes.insert(node.uuid.clone(), self.nodes.len());
        self.nodes.push(node);
        error.map_or(Ok(Vec::new()), Err)
    }

    fn finish(self: Box<Self>) -> Vec<Transcript> {
        let id = self.id.clone().unwrap_or_default();
        let mut found = Vec::new();
        let main: Vec<usize> = self.members(None).collect();
        if let Some(path) = main.last().map(|&leaf| self.path_to(leaf, &main)) {
            found.push(self.transcript(id.clone(), &path));
            let seen: FxHashSet<usize> = path.into_iter().collect();
            found.extend(self.branches(&id, &main, seen));
        }
        let mut agents: Vec<&str> =
            self.nodes.iter().filter_map(|node| node.agent.as_deref()).collect();
        agents.sort_unstable();
        agents.dedup();
        for agent in agents {
            let path: Vec<usize> = self.members(Some(agent)).collect();
            let name = if agent.is_empty() { "agent".to_owned() } else { format!("agent-{agent}") };
            let mut sub_agent = self.transcript(format!("{id}/{name}"), &path);
            sub_agent.role = TranscriptKind::SubAgent;
            sub_agent.parent = Some(id.clone());
            found.push(sub_agent);
        }
        found.retain(|transcript| !transcript.entries.is_empty());
        found
    }
}

impl Session {
    /// Returns the messages of the main conversation or of one sub-agent, in the order of the
    /// lines.
    fn members<'a>(&'a self, agent: Option<&'a str>) -> impl Iterator<Item = usize> + 'a {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(move |(_, node)| node.message.is_some() && node.agent.as_deref() == agent)
            .map(|(at, _)| at)
    }

    /// Returns the messages on the path to a leaf, with the other lines of their answers and the
    /// results of their calls, in the order of the lines.
    fn path_to(&self, leaf: usize, members: &[usize]) -> Vec<usize> {
        let mut on_path = FxHashSet::default();
        let mut at = Some(leaf);
        while let Some(here) = at.filter(|here| on_path.insert(*here)) {
            at = self.parent_of(here, members);
        }
        let answer_of = |at: usize| self.nodes.get(at).and_then(|node| node.answer.as_deref());
        let answers: FxHashSet<&str> = on_path.iter().filter_map(|&at| answer_of(at)).collect();
        let in_answers = |at: usize| answer_of(at).is_some_and(|id| answers.contains(id));
        on_path.extend(members.iter().copied().filter(|&at| in_answers(at)));
        let calls: FxHashSet<&str> =
            on_path.iter().flat_map(|&at| self.message(at)).flat_map(call_ids).collect();
        let has_result = |at: usize| {
            self.message(at).is_some_and(|message| {
                message.results().any(|result| calls.contains(&*result.call_id))
            })
        };
        on_path.extend(members.iter().copied().filter(|&at| has_result(at)));
        let mut path: Vec<usize> = on_path.into_iter().collect();
        path.sort_unstable();
        path
    }

    fn message(&self, at: usize) -> Option<&Message> {
        self.nodes.get(at)?.message.as_ref()
    }

    /// Returns the parent of a line. If the file does not have that parent, because its line is
    /// invalid or a compaction refers to another file, returns the last message before the line.
    fn parent_of(&self, at: usize, members: &[usize]) -> Option<usize> {
        let node = self.nodes.get(at)?;
        let named = node.parent.as_ref().and_then(|parent| self.indexes.get(parent)).copied();
        let before =
            || members.get(members.partition_point(|&member| member < at).checked_sub(1)?).copied();
        named.or_else(|| node.parent.as_ref().and_then(|_| before()))
    }

    /// Returns the abandoned branches, each with the messages it shares with the main path.
    fn branches(&self, id: &str, main: &[usize], mut seen: FxHashSet<usize>) -> Vec<Transcript> {
        let mut found: Vec<Transcript> = Vec::new();
        for &leaf in main.iter().rev() {
            if seen.contains(&leaf) {
                continue;
            }
            let path = self.path_to(leaf, main);
            seen.extend(path.iter().copied());
            let mut branch = self.transcript(format!("{id}/branch-{}", found.len() + 1), &path);
            branch.role = TranscriptKind::Branch;
            branch.parent = Some(id.to_owned());
            found.push(branch);
        }
        found
    }

    /// Joins the lines of a path: those of one answer become one message, followed by its results.
    fn transcript(&self, id: String, path: &[usize]) -> Transcript {
        let mut found = Transcript::new(id, Wire::ANTHROPIC);
        found.model.clone_from(&self.model);
        let mut answers: FxHashMap<&str, usize> = FxHashMap::default();
        let mut callers: FxHashMap<String, usize> = FxHashMap::default();
        for node in path.iter().filter_map(|&at| self.nodes.get(at)) {
            if let Some(compaction) = &node.compaction {
                found
                    .compactions
                    .push(Compaction { at: found.entries.len(), ..compaction.clone() });
            }
            let Some(message) = &node.message else { continue };
            let open = node.answer.as_deref().and_then(|answer| answers.get(answer)).copied();
            if let Some(entry) = open.and_then(|at| found.entries.get_mut(at)) {
                entry.message.parts.extend(message.parts.iter().cloned());
                entry.usage = node.usage.or(entry.usage);
            } else if !join_results(&mut found, &callers, message) {
                if let Some(answer) = node.answer.as_deref() {
                    answers.insert(answer, found.entries.len());
                }
                let mut entry = Entry::of(message.clone(), found.entries.len());
                entry.time = node.time;
                entry.usage = node.usage;
                entry.is_summary = node.is_summary;
                found.entries.push(entry);
            }
            let caller = open.unwrap_or(found.entries.len().saturating_sub(1));
            callers.extend(call_ids(message).map(|id| (id.to_owned(), caller)));
        }
        found
    }
}

/// Appends results to earlier results of the same answer. Returns `false` if there are none yet.
fn join_results(
    found: &mut Transcript,
    callers: &FxHashMap<String, usize>,
    message: &Message,
) -> bool {
    if message.role != Role::Tool {
        return false;
    }
    let caller = message.results().next().and_then(|result| callers.get(&result.call_id));
    let Some(entry) = caller.and_then(|&at| found.entries.get_mut(at + 1)) else { return false };
    let has_results = entry.message.role == Role::Tool;
    if has_results {
        entry.message.parts.extend(message.parts.iter().cloned());
    }
    has_results
}

fn call_ids(message: &Message) -> impl Iterator<Item = &str> {
    message.calls().map(|call| call.id.as_str())
}

/// Returns the message of a line, if it has one.
fn message_of(line: &str) -> Result<Option<Message>, Phrase> {
    let Some(json) =
        Fields::parse(line).and_then(|fields| fields.get("message").map(str::to_owned))
    else {
        return Ok(None);
    };
    let mut message = wire::message(&json, Wire::ANTHROPIC)?;
    message.extra.clear();
    // Claude Code records the caller of a tool, which no provider accepts in a request.
    for part in &mut message.parts {
        if matches!(part.body, Body::Call(_)) {
            part.extra.retain(|(name, _)| name != "caller");
        }
    }
    Ok(Some(message))
}

fn usage(value: &Value) -> Option<Usage> {
    let uncached = count(&value["input_tokens"]);
    let cached = count(&value["cache_read_input_tokens"]);
    let written = count(&value["cache_creation_input_tokens"]);
    let prompt = uncached + cached + written;
    (prompt > 0).then(|| Usage { prompt, cached, written, output: count(&value["output_tokens"]) })
}

fn compaction(value: &Value) -> Compaction {
    let tokens = |name: &str| value[name].as_u64().and_then(|tokens| usize::try_from(tokens).ok());
    Compaction {
        at: 0,
        before: tokens("preTokens"),
        after: tokens("postTokens"),
        trigger: string(&value["trigger"]),
    }
}
