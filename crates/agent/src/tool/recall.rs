//! `recall`: what was said or found earlier in this session, also what is no longer in the context.

use schemars::JsonSchema;
use serde::Deserialize;
use waterline::message::Message;
use waterline_provider::wire;

use super::{Capability, Failure, Output, Tool, ToolContext};

/// How many passages are given.
const FOUND: usize = 6;

/// How much of each is given.
const PASSAGE_CHARS: usize = 1_500;

/// Recalls.
#[derive(Debug)]
pub(super) struct Recall;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// Words that stand in what is looked for.
    query: String,
}

impl Tool for Recall {
    type Arguments = Arguments;
    const NAME: &'static str = "recall";
    const ABOUT: &'static str = "Search everything that was said and found in this session, also what is no longer shown to you.";
    const CAPABILITY: Capability = Capability::Read;

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        let (id, query) = (context.session.id.clone(), arguments.query.clone());
        // More than are given: what was said in this turn is found too, and is no news.
        let hits = context.on_log(move |log| log.search(&query, Some(&id), FOUND * 4)).await?;
        let passages: Vec<String> = hits
            .iter()
            .filter(|hit| hit.entry.position < context.turn)
            .map(|hit| (hit.entry.position, hit.entry.message(wire::parse_stored)))
            .filter(|(_, message)| !is_recall(message))
            .take(FOUND)
            .map(|(position, message)| {
                format!(
                    "[message {position}, {}]\n{}",
                    message.role.name(),
                    around(&words(&message), &arguments.query)
                )
            })
            .collect();
        if passages.is_empty() {
            return Ok(Output::text(format!(
                "[nothing before this turn has the words {:?}]",
                arguments.query
            )));
        }
        Ok(Output::text(passages.join("\n\n")))
    }
}

/// Whether a message only asks for a recall.
fn is_recall(message: &Message) -> bool {
    let mut calls = message.calls().peekable();
    calls.peek().is_some() && calls.all(|call| call.name == Recall::NAME) && !message.has_text()
}

/// Everything a message says: also calls and results.
fn words(message: &Message) -> String {
    let calls = message.calls().map(|call| format!("{} {}", call.name, call.arguments));
    let results = message.results().map(waterline::message::ToolResult::text);
    message.texts().map(str::to_owned).chain(calls).chain(results).collect::<Vec<_>>().join("\n")
}

/// The passage of a text around the first of the words.
fn around(text: &str, query: &str) -> String {
    let lower = text.to_lowercase();
    let found = query
        .split_whitespace()
        .filter_map(|word| lower.find(&word.to_lowercase()))
        .min()
        .unwrap_or(0);
    let before = lower.get(..found).map_or(0, |before| before.chars().count());
    let from = before.saturating_sub(PASSAGE_CHARS / 3);
    let passage: String = text.chars().skip(from).take(PASSAGE_CHARS).collect();
    let (head, tail) = (
        if from > 0 { "…" } else { "" },
        if text.chars().count() > from + PASSAGE_CHARS { "…" } else { "" },
    );
    format!("{head}{passage}{tail}")
}
