//! `recall`: searches the session history, including messages that are no longer in the context.

use schemars::JsonSchema;
use serde::Deserialize;
use waterline::message::Message;
use waterline_provider::wire;

use super::{Capability, Failure, Output, Tool, ToolContext};

/// Maximum number of passages returned.
const MAX_PASSAGES: usize = 6;

/// Maximum length of a passage.
const PASSAGE_CHARS: usize = 1_500;

#[derive(Debug)]
pub(super) struct Recall;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// Words to search for, as they occur in the messages.
    query: String,
}

impl Tool for Recall {
    type Arguments = Arguments;
    const NAME: &'static str = "recall";
    const ABOUT: &'static str = "\
        Search the full session history before this turn, including messages and tool results \
        that are no longer in context. Use it when you need an exact value or statement that was \
        summarized or truncated. Returns up to 6 passages, each with its message number.";
    const CAPABILITY: Capability = Capability::Read;

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        let session = context.session.id.clone();
        let query = arguments.query.clone();
        // Asks for more than needed: messages of the running turn are found too, and are left out.
        let hits =
            context.on_log(move |log| log.search(&query, Some(&session), MAX_PASSAGES * 4)).await?;
        let passages: Vec<String> = hits
            .iter()
            .filter(|hit| hit.entry.position < context.turn)
            .map(|hit| (hit.entry.position, hit.entry.message(wire::parse_stored)))
            .filter(|(_, message)| !is_recall(message))
            .take(MAX_PASSAGES)
            .map(|(position, message)| {
                format!(
                    "[message {position}, {}]\n{}",
                    message.role.name(),
                    around(&full_text(&message), &arguments.query)
                )
            })
            .collect();
        if passages.is_empty() {
            return Ok(Output::text(format!(
                "[no message before this turn matches {:?}]",
                arguments.query
            )));
        }
        Ok(Output::text(passages.join("\n\n")))
    }
}

/// Returns whether a message contains nothing but calls of `recall`.
fn is_recall(message: &Message) -> bool {
    let mut calls = message.calls().peekable();
    calls.peek().is_some() && calls.all(|call| call.name == Recall::NAME) && !message.has_text()
}

/// Returns the text of a message, including its calls and results.
fn full_text(message: &Message) -> String {
    let calls = message.calls().map(|call| format!("{} {}", call.name, call.arguments));
    let results = message.results().map(waterline::message::ToolResult::text);
    message.texts().map(str::to_owned).chain(calls).chain(results).collect::<Vec<_>>().join("\n")
}

/// Returns the passage of a text around the first match of a query word.
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
    let head = if from > 0 { "…" } else { "" };
    let tail = if text.chars().count() > from + PASSAGE_CHARS { "…" } else { "" };
    format!("{head}{passage}{tail}")
}
