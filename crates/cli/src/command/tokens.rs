//! `waterline tokens`: count the tokens of a conversation.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline::message::{Body, Message, Role, Wire};
use waterline::tokens::{Counter, Method};
use waterline_provider::wire::Conversation;

use crate::db::Stored;
use crate::input::{Input, output, raw_output};
use crate::settings;
use crate::show::{number, plain};

/// Count the tokens of a conversation
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A JSON conversation, a request body, or JSON lines with one conversation a line; `-` for
    /// standard input; with --db, the id of a stored session
    file: String,
    #[command(flatten)]
    database: Stored,
    /// Count as this model does (default: the one the file names)
    #[arg(long)]
    model: Option<String>,
    /// Count in this way instead: o200k, cl100k, estimate, chars/4, agentgraph, init-execute, cow,
    /// agent-service, beamai
    #[arg(long, value_name = "METHOD")]
    with: Option<Method>,
    /// The wire of the file (default: told from its content)
    #[arg(long, value_parser = waterline_provider::wire::named)]
    from: Option<Wire>,
    /// One JSON object a conversation
    #[arg(long)]
    json: bool,
}

/// Tokens by what they are spent on.
#[derive(Default)]
struct Tally {
    rows: Vec<(&'static str, usize, usize)>,
}

impl Tally {
    fn add(&mut self, what: &'static str, tokens: usize) {
        match self.rows.iter_mut().find(|(known, ..)| *known == what) {
            Some((_, count, sum)) => {
                *count += 1;
                *sum += tokens;
            }
            None => self.rows.push((what, 1, tokens)),
        }
    }

    fn total(&self) -> usize {
        self.rows.iter().map(|(.., tokens)| tokens).sum()
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let input = Input::of(&arguments.file, arguments.from, &arguments.database)?;
    let several = input.count()? > 1;
    let mut out = if arguments.json { raw_output() } else { output() };
    let mut at = 0;
    input.each(|conversation| {
        let name = arguments.model.as_deref().or(conversation.model.as_deref());
        let (model, warning) = settings::model(name);
        let counter = arguments.with.map_or_else(|| model.counter(), |method| Counter::new(method, model.image_tokens));
        let tally = tally(&conversation, &counter);
        let id = conversation.id.clone().unwrap_or_else(|| at.to_string());
        at += 1;
        if arguments.json {
            let parts: serde_json::Map<_, _> =
                tally.rows.iter().map(|(what, _, tokens)| ((*what).to_owned(), (*tokens).into())).collect();
            let line = serde_json::json!({
                "id": id, "model": name, "method": counter.method().to_string(), "exact": counter.method().is_exact(),
                "messages": conversation.messages.len() - conversation.outside, "tokens": tally.total(), "parts": parts,
            });
            writeln!(out, "{line}")?;
        } else if several {
            writeln!(out, "{:>10}  {}", number(tally.total()), plain(&id))?;
        } else {
            if let Some(warning) = warning.filter(|_| arguments.with.is_none()) {
                writeln!(out, "{}", plain(&warning.to_string()))?;
            }
            writeln!(out, "{} tokens ({})", number(tally.total()), counter.method())?;
            for (what, count, tokens) in &tally.rows {
                writeln!(out, "{:>10}  {what} ({})", number(*tokens), number(*count))?;
            }
        }
        Ok(())
    })?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn tally(conversation: &Conversation, counter: &Counter) -> Tally {
    let mut tally = Tally::default();
    for message in &conversation.messages {
        for part in &message.parts {
            tally.add(what(message, &part.body), counter.part(part));
        }
        let parts: usize = message.parts.iter().map(|part| counter.part(part)).sum();
        let around = counter.message(message) - parts;
        if around > 0 {
            tally.add("around messages", around);
        }
    }
    for tool in &conversation.tools {
        tally.add("tool definitions", counter.tool(&tool.definition()));
    }
    tally
}

const fn what(message: &Message, body: &Body) -> &'static str {
    match (body, message.role) {
        (Body::Call(_), _) => "calls",
        (Body::Result(_), _) => "results",
        (Body::Thinking(_), _) => "thinking",
        (Body::Image(_), _) => "pictures",
        (Body::Opaque(_), _) => "other",
        (Body::Text(_), Role::System) => "system texts",
        (Body::Text(_), Role::Assistant) => "assistant texts",
        (Body::Text(_), Role::User | Role::Tool) => "user texts",
    }
}
