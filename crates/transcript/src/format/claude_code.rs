//! Claude Code's session files: one event a line, a tree by `parentUuid`. The conversation is the
//! way from the newest message back to the root, not the order of the lines.
//!
//! Three things make the way longer than its parents: a compaction starts a new root, whose parent
//! is named apart; one answer is stored as several lines with the same `message.id`; and calls that
//! ran side by side have results that hang beside the way.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use waterline::json::Fields;
use waterline::message::{Body, Message, Role, Wire};
use waterline_provider::wire;

use super::Lines;
use super::parts::{count, time, word};
use crate::transcript::{Compaction, Entry, Standing, Transcript, Usage};

pub(super) const NAME: &str = "claude-code";

/// One line of the tree.
#[derive(Default)]
struct Node {
    uuid: String,
    parent: Option<String>,
    /// The sub-agent it belongs to; empty for one whose name is not given.
    agent: Option<String>,
    message: Option<Message>,
    /// The provider's id of the answer that the line is a part of.
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
    places: FxHashMap<String, usize>,
}

/// Lines of a session have an id of their own, or name one.
pub(super) fn lines(fields: &Fields<'_>) -> Option<Box<dyn Lines>> {
    let has = |name: &str| fields.get(name).is_some();
    let is_event = has("parentUuid") && has("sessionId") && (has("isSidechain") || has("message"));
    // The Gemini-style parts of Qwen's sessions are another format.
    let is_other = fields
        .get("message")
        .and_then(Fields::parse)
        .is_some_and(|message| message.get("parts").is_some());
    (is_event && !is_other).then(|| Box::new(Session::default()) as Box<dyn Lines>)
}

impl Lines for Session {
    fn name(&self) -> &'static str {
        NAME
    }

    fn line(&mut self, text: &Arc<String>) -> Result<Vec<Transcript>, String> {
        let event: Value =
            serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        if self.id.is_none() {
            self.id = word(&event["sessionId"]);
        }
        // A line that the file has twice was said once.
        let Some(uuid) = word(&event["uuid"]).filter(|uuid| !self.places.contains_key(uuid)) else {
            return Ok(Vec::new());
        };
        let message = match event["type"].as_str() {
            Some("user" | "assistant") if event["isApiErrorMessage"] != true => message_of(text),
            _ => Ok(None),
        };
        // A line whose message cannot be read is still a step on the way.
        let (message, refused) = match message {
            Ok(message) => (message, None),
            Err(refused) => (None, Some(refused)),
        };
        let said = &event["message"];
        if self.model.is_none() {
            self.model = word(&said["model"]).filter(|model| !model.starts_with('<'));
        }
        let is_boundary = event["subtype"] == "compact_boundary";
        let node = Node {
            parent: word(&event["parentUuid"]).or_else(|| word(&event["logicalParentUuid"])),
            agent: (event["isSidechain"] == true)
                .then(|| word(&event["agentId"]).unwrap_or_default()),
            message,
            answer: word(&said["id"]),
            time: time(&event["timestamp"]),
            usage: usage(&said["usage"]),
            is_summary: event["isCompactSummary"] == true,
            compaction: is_boundary.then(|| compaction(&event["compactMetadata"])),
            uuid,
        };
        self.places.insert(node.uuid.clone(), self.nodes.len());
        self.nodes.push(node);
        refused.map_or(Ok(Vec::new()), Err)
    }

    fn finish(self: Box<Self>) -> Vec<Transcript> {
        let id = self.id.clone().unwrap_or_default();
        let mut found = Vec::new();
        let main: Vec<usize> = self.members(None).collect();
        if let Some(way) = main.last().map(|&leaf| self.way_to(leaf, &main)) {
            found.push(self.transcript(id.clone(), &way));
            let kept: FxHashSet<usize> = way.into_iter().collect();
            found.extend(self.branches(&id, &main, kept));
        }
        let mut agents: Vec<&str> =
            self.nodes.iter().filter_map(|node| node.agent.as_deref()).collect();
        agents.sort_unstable();
        agents.dedup();
        for agent in agents {
            let way: Vec<usize> = self.members(Some(agent)).collect();
            let name = if agent.is_empty() { "agent".to_owned() } else { format!("agent-{agent}") };
            let mut side = self.transcript(format!("{id}/{name}"), &way);
            side.role = Standing::SubAgent;
            side.parent = Some(id.clone());
            found.push(side);
        }
        found.retain(|transcript| !transcript.entries.is_empty());
        found
    }
}

impl Session {
    /// The messages of the main conversation or of one agent, in the order of the lines.
    fn members<'a>(&'a self, agent: Option<&'a str>) -> impl Iterator<Item = usize> + 'a {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(move |(_, node)| node.message.is_some() && node.agent.as_deref() == agent)
            .map(|(at, _)| at)
    }

    /// The messages on the way to a leaf, with what belongs to them beside it, in the order of the
    /// lines.
    fn way_to(&self, leaf: usize, members: &[usize]) -> Vec<usize> {
        let mut on_way = FxHashSet::default();
        let mut at = Some(leaf);
        while let Some(here) = at.filter(|here| on_way.insert(*here)) {
            at = self.parent_of(here, members);
        }
        let answers: FxHashSet<&str> =
            on_way.iter().filter_map(|&at| self.nodes.get(at)?.answer.as_deref()).collect();
        let belongs = |at: usize| self.nodes.get(at).and_then(|node| node.answer.as_deref());
        on_way.extend(
            members
                .iter()
                .copied()
                .filter(|&at| belongs(at).is_some_and(|id| answers.contains(id))),
        );
        let calls: FxHashSet<&str> =
            on_way.iter().flat_map(|&at| self.message(at)).flat_map(call_ids).collect();
        let answered = |at: usize| {
            self.message(at).is_some_and(|m| m.results().any(|r| calls.contains(&*r.call_id)))
        };
        on_way.extend(members.iter().copied().filter(|&at| answered(at)));
        let mut way: Vec<usize> = on_way.into_iter().collect();
        way.sort_unstable();
        way
    }

    fn message(&self, at: usize) -> Option<&Message> {
        self.nodes.get(at)?.message.as_ref()
    }

    /// What a line hangs on. Where it names a line that the file does not have, because that line
    /// is broken or a compaction names one of elsewhere, the last message before it.
    fn parent_of(&self, at: usize, members: &[usize]) -> Option<usize> {
        let node = self.nodes.get(at)?;
        let named = node.parent.as_ref().and_then(|parent| self.places.get(parent)).copied();
        let before =
            || members.get(members.partition_point(|&member| member < at).checked_sub(1)?).copied();
        named.or_else(|| node.parent.as_ref().and_then(|_| before()))
    }

    /// The ways that were left: messages outside the main one, each with the way it left.
    fn branches(&self, id: &str, main: &[usize], mut kept: FxHashSet<usize>) -> Vec<Transcript> {
        let mut found: Vec<Transcript> = Vec::new();
        for &leaf in main.iter().rev() {
            if kept.contains(&leaf) {
                continue;
            }
            let way = self.way_to(leaf, main);
            kept.extend(way.iter().copied());
            let mut branch = self.transcript(format!("{id}/branch-{}", found.len() + 1), &way);
            branch.role = Standing::Branch;
            branch.parent = Some(id.to_owned());
            found.push(branch);
        }
        found
    }

    /// The messages of these lines: those of one answer become one, and its results follow it.
    fn transcript(&self, id: String, way: &[usize]) -> Transcript {
        let mut found = Transcript::new(id, Wire::ANTHROPIC);
        found.model.clone_from(&self.model);
        let mut answers: FxHashMap<&str, usize> = FxHashMap::default();
        let mut callers: FxHashMap<String, usize> = FxHashMap::default();
        for node in way.iter().filter_map(|&at| self.nodes.get(at)) {
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

/// Adds results behind the other results of the same answer, if there are any yet.
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
    let same = entry.message.role == Role::Tool;
    if same {
        entry.message.parts.extend(message.parts.iter().cloned());
    }
    same
}

fn call_ids(message: &Message) -> impl Iterator<Item = &str> {
    message.calls().map(|call| call.id.as_str())
}

/// The message of a line; nothing where it has none.
fn message_of(line: &str) -> Result<Option<Message>, String> {
    let Some(json) =
        Fields::parse(line).and_then(|fields| fields.get("message").map(str::to_owned))
    else {
        return Ok(None);
    };
    let mut message = wire::message(&json, Wire::ANTHROPIC)?;
    message.extra.clear();
    // Who calls a tool is noted beside the call; no provider takes it back.
    for part in &mut message.parts {
        if matches!(part.body, Body::Call(_)) {
            part.extra.retain(|(name, _)| name != "caller");
        }
    }
    Ok(Some(message))
}

fn usage(value: &Value) -> Option<Usage> {
    let fresh = count(&value["input_tokens"]);
    let (cached, written) =
        (count(&value["cache_read_input_tokens"]), count(&value["cache_creation_input_tokens"]));
    let prompt = fresh + cached + written;
    (prompt > 0).then(|| Usage { prompt, cached, written, output: count(&value["output_tokens"]) })
}

fn compaction(value: &Value) -> Compaction {
    let tokens = |name: &str| value[name].as_u64().and_then(|tokens| usize::try_from(tokens).ok());
    Compaction {
        at: 0,
        before: tokens("preTokens"),
        after: tokens("postTokens"),
        trigger: word(&value["trigger"]),
    }
}
