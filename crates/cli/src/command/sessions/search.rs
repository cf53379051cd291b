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

/// Find messages by their words, in any language
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The words; a message must have all of them, or some where none has all. `connect*` finds
    /// what begins so
    #[arg(required = true)]
    words: Vec<String>,
    /// Only in this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    limit: u16,
    /// One JSON object a message
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
        writeln!(out, "nothing found")?;
    }
    out.flush()?;
    // As other search programs do: nothing found is no success.
    Ok(if hits.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn table(out: &mut impl Write, hits: &[Hit], question: &str, ids: &[&str]) -> Result<()> {
    let name =
        |hit: &Hit| hit.session.as_deref().map_or_else(|| "(left)".to_owned(), |id| short(id, ids));
    let wide = hits.iter().map(|hit| width(&name(hit))).max().unwrap_or_default();
    for hit in hits {
        let text = around(&gist_of(hit), question);
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

fn gist_of(hit: &Hit) -> String {
    let message = hit.entry.message(parse_stored);
    let whole = message.parts.len() == 1 && !message.text().is_empty();
    if whole {
        message.text().split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        one_line(&message)
    }
}

/// The words around the first that was asked for: one that stands there whole, or else part of
/// another.
fn around(text: &str, question: &str) -> String {
    let lower = text.to_lowercase();
    let words =
        || question.split_whitespace().map(|word| word.trim_end_matches('*').to_lowercase());
    let first = words()
        .find_map(|word| whole(&lower, &word))
        .or_else(|| words().find_map(|word| lower.find(&word)));
    let skip = first
        .map_or(0, |at| lower.get(..at).unwrap_or_default().chars().count())
        .saturating_sub(12);
    let rest: String = text.chars().skip(skip).collect();
    if skip > 0 { format!("…{rest}") } else { rest }
}

/// Where a word stands between others.
fn whole(text: &str, word: &str) -> Option<usize> {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(word).map(|(at, _)| at).find(|&at| {
        let (before, after) =
            (text.get(..at).unwrap_or_default(), text.get(at + word.len()..).unwrap_or_default());
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    })
}
