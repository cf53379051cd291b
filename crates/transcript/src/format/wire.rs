//! Lists of messages and request bodies as the four wires write them, with what research data notes
//! beside messages: `x.usage` (`in`, `out`, `cached`, `written`), `x.kind`, `x.time`, and
//! `compactions`.

use std::sync::Arc;

use serde::Deserialize;
use waterline::json::Fields;
use waterline_provider::wire::{self, Conversation};

use super::Lines;
use crate::transcript::{Compaction, Entry, Transcript, Usage};

pub(crate) const NAME: &str = "messages";

/// One conversation a line.
struct Bodies {
    count: usize,
}

/// Lines that hold a list of messages under a name that one of the wires uses.
pub(super) fn lines(fields: &Fields<'_>) -> Option<Box<dyn Lines>> {
    let is_body = ["messages", "input", "contents"].iter().any(|name| fields.get(name).is_some());
    is_body.then(|| Box::new(Bodies { count: 0 }) as Box<dyn Lines>)
}

/// Lines that are lists themselves.
pub(super) fn list_lines(line: &str) -> Option<Box<dyn Lines>> {
    let is_list = wire::parse(&Arc::new(line.to_owned()), None).is_ok();
    is_list.then(|| Box::new(Bodies { count: 0 }) as Box<dyn Lines>)
}

impl Lines for Bodies {
    fn name(&self) -> &'static str {
        NAME
    }

    fn line(&mut self, text: &Arc<String>) -> Result<Vec<Transcript>, String> {
        self.count += 1;
        let conversation = wire::parse(text, None).map_err(|error| error.text)?;
        Ok(vec![transcript(conversation, text, self.count - 1)])
    }

    fn finish(self: Box<Self>) -> Vec<Transcript> {
        Vec::new()
    }
}

/// A document that is one conversation.
pub(super) fn document(text: &Arc<String>) -> Result<(&'static str, Vec<Transcript>), String> {
    let conversation = wire::parse(text, None).map_err(|error| error.to_string())?;
    Ok((NAME, vec![transcript(conversation, text, 0)]))
}

/// What research data notes beside a message.
#[derive(Default, Deserialize)]
struct Beside {
    usage: Option<Tokens>,
    kind: Option<String>,
    time: Option<i64>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(rename = "in")]
    prompt: usize,
    out: usize,
    #[serde(default)]
    cached: usize,
    #[serde(default)]
    written: usize,
}

#[derive(Deserialize)]
struct Noted {
    at: usize,
    pre_tokens: Option<usize>,
    trigger: Option<String>,
}

fn transcript(conversation: Conversation, text: &str, count: usize) -> Transcript {
    let id = conversation.id.unwrap_or_else(|| count.to_string());
    let mut found = Transcript::new(id, conversation.wire);
    found.model = conversation.model;
    found.tools = conversation.tools;
    for (at, message) in conversation.messages.into_iter().enumerate() {
        let beside = message.extra.iter().find(|(name, _)| name == "x");
        let beside: Beside =
            beside.and_then(|(_, json)| serde_json::from_str(json).ok()).unwrap_or_default();
        let mut entry = Entry::of(message, at.saturating_sub(conversation.outside));
        entry.time = beside.time;
        entry.usage = beside.usage.map(|Tokens { prompt, out, cached, written }| Usage {
            prompt,
            cached,
            written,
            output: out,
        });
        entry.is_summary = beside.kind.as_deref() == Some("compact_summary");
        found.entries.push(entry);
    }
    let noted = Fields::parse(text).and_then(|fields| fields.get("compactions").map(str::to_owned));
    let noted: Vec<Noted> =
        noted.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
    found.compactions = noted
        .into_iter()
        .map(|noted| Compaction {
            at: noted.at,
            before: noted.pre_tokens,
            after: None,
            trigger: noted.trigger,
        })
        .collect();
    found
}
