//! Message lists and request bodies of the four wires, with the metadata that research data sets
//! add: `x.usage` (`in`, `out`, `cached`, `written`), `x.kind`, `x.time`, and `compactions`.

use std::sync::Arc;

use serde::Deserialize;
use waterline::json::Fields;
use waterline::phrase::Phrase;
use waterline_provider::wire::{self, Conversation};

use super::Lines;
use crate::transcript::{Compaction, Entry, Transcript, Usage};

pub(crate) const NAME: &str = "messages";

/// Lines with one conversation each.
struct Bodies {
    count: usize,
}

/// Recognizes objects with a message list under a name that one of the wires uses.
pub(super) fn lines(fields: &Fields<'_>) -> Option<Box<dyn Lines>> {
    let is_body = ["messages", "input", "contents"].iter().any(|name| fields.get(name).is_some());
    is_body.then(|| Box::new(Bodies { count: 0 }) as Box<dyn Lines>)
}

/// Recognizes lines that are message lists.
pub(super) fn list_lines(line: &str) -> Option<Box<dyn Lines>> {
    let is_list = wire::parse(&Arc::new(line.to_owned()), None).is_ok();
    is_list.then(|| Box::new(Bodies { count: 0 }) as Box<dyn Lines>)
}

impl Lines for Bodies {
    fn name(&self) -> &'static str {
        NAME
    }

    fn line(&mut self, text: &Arc<String>) -> Result<Vec<Transcript>, Phrase> {
        self.count += 1;
        let conversation = wire::parse(text, None).map_err(|error| error.text)?;
        Ok(vec![transcript(conversation, text, self.count - 1)])
    }

    fn finish(self: Box<Self>) -> Vec<Transcript> {
        Vec::new()
    }
}

/// Reads a document that is one conversation.
pub(super) fn document(text: &Arc<String>) -> Result<(&'static str, Vec<Transcript>), Phrase> {
    let conversation = wire::parse(text, None).map_err(|error| error.phrase())?;
    Ok((NAME, vec![transcript(conversation, text, 0)]))
}

/// The `x` field of a message.
#[derive(Default, Deserialize)]
struct Metadata {
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
struct RecordedCompaction {
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
        let x = message.extra.iter().find(|(name, _)| name == "x");
        let metadata: Metadata =
            x.and_then(|(_, json)| serde_json::from_str(json).ok()).unwrap_or_default();
        let mut entry = Entry::of(message, at.saturating_sub(conversation.outside));
        entry.time = metadata.time;
        entry.usage = metadata.usage.map(|Tokens { prompt, out, cached, written }| Usage {
            prompt,
            cached,
            written,
            output: out,
        });
        entry.is_summary = metadata.kind.as_deref() == Some("compact_summary");
        found.entries.push(entry);
    }
    let json = Fields::parse(text).and_then(|fields| fields.get("compactions").map(str::to_owned));
    let recorded: Vec<RecordedCompaction> =
        json.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
    found.compactions = recorded
        .into_iter()
        .map(|recorded| Compaction {
            at: recorded.at,
            before: recorded.pre_tokens,
            after: None,
            trigger: recorded.trigger,
        })
        .collect();
    found
}
