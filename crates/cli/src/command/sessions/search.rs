//! `waterline sessions search`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use waterline_log::Hit;

use super::show::gist;
use super::time;
use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{cut, plain, room, width};
use crate::stored;

/// Find messages by their words, in any language
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The words; a message must have all of them, or some where none has all
    #[arg(required = true)]
    words: Vec<String>,
    /// Only in this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    limit: usize,
    /// One JSON object a message
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let session = arguments.session.as_ref().map(|id| log.find(id)).transpose()?;
    let question = arguments.words.join(" ");
    let hits = log.search(&question, session.as_ref().map(|session| session.id.as_str()), arguments.limit)?;
    let mut out = if arguments.json { raw_output() } else { output() };
    for hit in &hits {
        if arguments.json {
            writeln!(out, "{}", as_json(hit))?;
        } else {
            let (session, entry) = (plain(hit.session.as_deref().unwrap_or("(left)")), &hit.entry);
            let text = around(&gist_of(hit), &question);
            let start = format!("{session} {}  {:<9} ", entry.position, entry.role.name());
            writeln!(out, "{start}{}", cut(&text, room(width(&start))))?;
        }
    }
    if hits.is_empty() && !arguments.json {
        writeln!(out, "nothing found")?;
    }
    out.flush()?;
    // As other search programs do: nothing found is no success.
    Ok(if hits.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn gist_of(hit: &Hit) -> String {
    let message = hit.entry.message(stored::parse);
    let whole = message.parts.len() == 1 && !message.text().is_empty();
    if whole { message.text().split_whitespace().collect::<Vec<_>>().join(" ") } else { gist(&message) }
}

/// The words around the first that was asked for.
fn around(text: &str, question: &str) -> String {
    let lower = text.to_lowercase();
    let first = question.split_whitespace().find_map(|word| lower.find(&word.to_lowercase()));
    let skip = first.map_or(0, |at| lower.get(..at).unwrap_or_default().chars().count()).saturating_sub(30);
    let rest: String = text.chars().skip(skip).collect();
    if skip > 0 { format!("…{rest}") } else { rest }
}

fn as_json(hit: &Hit) -> serde_json::Value {
    json!({
        "session": hit.session,
        "position": hit.entry.position,
        "id": hit.entry.id.to_string(),
        "role": hit.entry.role.name(),
        "time": time(hit.entry.time),
        "score": hit.score,
        "raw": String::from_utf8_lossy(&hit.entry.bytes),
    })
}
