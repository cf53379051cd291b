//! `waterline tokens`: counts the tokens of a conversation.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline::message::{Body, Message, Role, Wire};
use waterline::tokens::Counter;
use waterline_config::Tokenizer;
use waterline_provider::wire::Conversation;

use crate::db::Stored;
use crate::input::{Input, output, raw_output};
use crate::settings;
use crate::show::{method, number, phrase, plain};
use crate::text;

/// Count the tokens of a conversation
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// JSON conversation, request body, or JSON lines with one conversation per line; `-` for
    /// standard input; with --db, the id of a stored session
    file: String,
    #[command(flatten)]
    database: Stored,
    /// Count as this model does (default: the one in the file)
    #[arg(long)]
    model: Option<String>,
    /// Counting method instead of the model's: tiktoken, o200k, cl100k, estimate, chars/4,
    /// agentgraph, init-execute, cow, agent-service, beamai
    #[arg(long, value_name = "METHOD")]
    with: Option<Tokenizer>,
    /// Wire format of the file (default: detected)
    #[arg(long, value_parser = waterline_provider::wire::named)]
    from: Option<Wire>,
    /// Print one JSON object per conversation
    #[arg(long)]
    json: bool,
}

/// A kind of content; its name is a key of the JSON output.
type Kind = &'static str;

/// Tokens by kind of content.
#[derive(Default)]
struct Counters {
    rows: Vec<(Kind, usize, usize)>,
}

impl Counters {
    fn add(&mut self, kind: Kind, tokens: usize) {
        match self.rows.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, count, sum)) => {
                *count += 1;
                *sum += tokens;
            }
            None => self.rows.push((kind, 1, tokens)),
        }
    }

    fn total(&self) -> usize {
        self.rows.iter().map(|(.., tokens)| tokens).sum()
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let input = Input::of(&arguments.file, arguments.from, &arguments.database)?;
    let several = input.count()? > 1;
    let models = settings::models()?;
    let mut out = if arguments.json { raw_output() } else { output() };
    let mut at = 0;
    input.each(|conversation| {
        let name = arguments.model.as_deref().or(conversation.model.as_deref());
        let (model, warning) = settings::model(&models, name);
        let counter = match arguments.with {
            Some(with) => Counter::new(with.method(name.unwrap_or_default()), model.image_tokens),
            None => model.counter(),
        };
        let counters = count(&conversation, &counter);
        at += 1;
        let id = conversation.id.clone().unwrap_or_else(|| at.to_string());
        if arguments.json {
            let parts = counters.rows.iter();
            let parts: serde_json::Map<_, _> =
                parts.map(|(kind, _, tokens)| ((*kind).to_owned(), (*tokens).into())).collect();
            let line = serde_json::json!({
                "id": id,
                "model": name,
                "method": counter.method().to_string(),
                "exact": counter.method().is_exact(),
                "messages": conversation.messages.len() - conversation.outside,
                "tokens": counters.total(),
                "parts": parts,
            });
            writeln!(out, "{line}")?;
        } else if several {
            writeln!(out, "{:>10}  {}", number(counters.total()), plain(&id))?;
        } else {
            if let Some(warning) = warning.filter(|_| arguments.with.is_none()) {
                writeln!(out, "{}", phrase(&warning.text))?;
            }
            let method = method(counter.method());
            let total = text!("tokens-total", count = counters.total(), method = method);
            writeln!(out, "{total}")?;
            for (kind, count, tokens) in &counters.rows {
                let what = text!("with-detail", text = label(kind), detail = number(*count));
                writeln!(out, "{:>10}  {what}", number(*tokens))?;
            }
        }
        Ok(())
    })?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn count(conversation: &Conversation, counter: &Counter) -> Counters {
    let mut counters = Counters::default();
    for message in &conversation.messages {
        for part in &message.parts {
            counters.add(kind(message, &part.body), counter.part(part));
        }
        let parts: usize = message.parts.iter().map(|part| counter.part(part)).sum();
        let around = counter.message(message) - parts;
        if around > 0 {
            counters.add("around messages", around);
        }
    }
    for tool in &conversation.tools {
        counters.add("tool definitions", counter.tool(tool));
    }
    counters
}

const fn kind(message: &Message, body: &Body) -> Kind {
    match (body, message.role) {
        (Body::Call(_), _) => "calls",
        (Body::Result(_), _) => "results",
        (Body::Thinking(_), _) => "thinking",
        (Body::Image(_), _) => "images",
        (Body::Opaque(_), _) => "other",
        (Body::Text(_), Role::System) => "system texts",
        (Body::Text(_), Role::Assistant) => "assistant texts",
        (Body::Text(_), Role::User | Role::Tool) => "user texts",
    }
}

fn label(kind: &str) -> String {
    match kind {
        "calls" => text!("tokens-calls"),
        "results" => text!("tokens-results"),
        "thinking" => text!("tokens-thinking"),
        "images" => text!("tokens-images"),
        "system texts" => text!("tokens-system"),
        "assistant texts" => text!("tokens-assistant"),
        "user texts" => text!("tokens-user"),
        "around messages" => text!("tokens-framing"),
        "tool definitions" => text!("tokens-tools"),
        _ => text!("tokens-other"),
    }
}
