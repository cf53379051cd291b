//! `waterline sessions search`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline_log::{Filter, Hit};
use waterline_provider::wire::parse_stored;

use super::{ids, short};
use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{cut, one_line, pad, room, width};
use crate::text;

/// Search messages by words, in any language
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Words to find; messages with all of them, or with some if none has all. `connect*` matches a
    /// prefix
    #[arg(required = true)]
    words: Vec<String>,
    /// Search only in this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Maximum number of results
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    limit: u16,
    /// Print one JSON object per message
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let session = arguments.session.as_ref().map(|id| log.find(id)).transpose()?;
    let question = arguments.words.join(" ");
    let hits = log.search(
        &question,
        session.as_ref().map(|session| session.id.as_str()),
        arguments.limit.into(),
    )?;
    let mut out = if arguments.json { raw_output() } else { output() };
    if arguments.json {
        hits.iter().try_for_each(|hit| writeln!(out, "{}", serde_json::to_string(hit)?))?;
    } else {
        let sessions = log.sessions(&Filter::default())?;
        table(&mut out, &hits, &question, &ids(&sessions))?;
    }
    if hits.is_empty() && !arguments.json {
        writeln!(out, "{}", text!("search-empty"))?;
    }
    out.flush()?;
    // Exits with 1 if nothing was found, as other search programs do.
    Ok(if hits.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn table(out: &mut impl Write, hits: &[Hit], question: &str, ids: &[&str]) -> Result<()> {
    let name = |hit: &Hit| match hit.session.as_deref() {
        Some(id) => short(id, ids),
        None => text!("search-abandoned"),
    };
    let wide = hits.iter().map(|hit| width(&name(hit))).max().unwrap_or_default();
    for hit in hits {
        let text = around(&shown(hit), question);
        let start = format!(
            "{}  {:>6}  {:<9}  ",
            pad(&name(hit), wide),
            hit.entry.position,
            hit.entry.role.name()
        );
        writeln!(out, "{start}{}", cut(&text, room(width(&start))))?;
    }
    Ok(())
}

/// Returns a message on one line: a single text in full, anything else shortened.
fn shown(hit: &Hit) -> String {
    let message = hit.entry.message(parse_stored);
    let is_single_text = message.parts.len() == 1 && !message.text().is_empty();
    if is_single_text {
        message.text().split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        one_line(&message)
    }
}

/// Returns the text around the first match: a whole word, or else part of one.
fn around(text: &str, question: &str) -> String {
    let lower = text.to_lowercase();
    let words =
        || question.split_whitespace().map(|word| word.trim_end_matches('*').to_lowercase());
    let first = words()
        .find_map(|word| find_whole(&lower, &word))
        .or_else(|| words().find_map(|word| lower.find(&word)));
    let skip = first
        .map_or(0, |at| lower.get(..at).unwrap_or_default().chars().count())
        .saturating_sub(12);
    let rest: String = text.chars().skip(skip).collect();
    if skip > 0 { format!("…{rest}") } else { rest }
}

/// Finds a whole word.
fn find_whole(text: &str, word: &str) -> Option<usize> {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(word).map(|(at, _)| at).find(|&at| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + word.len()..).unwrap_or_default();
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    })
}
