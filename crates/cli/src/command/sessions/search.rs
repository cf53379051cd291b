//! `waterline sessions search`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline_log::{Filter, Hit, Log, Session, utc};
use waterline_provider::wire::parse_stored;

use super::{ids, short};
use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{message_number, pad, plain, role, room, truncate, width};
use crate::text;

/// Maximum number of characters shown of a message, however wide the terminal is.
const MAX_PASSAGE_CHARS: usize = 240;

/// Search messages and artifacts by words, in any language
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Words to find; messages with all of them come first. `connect*` matches a prefix
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
        table(&mut out, &log, &hits, &question, &sessions)?;
    }
    if hits.is_empty() && !arguments.json {
        writeln!(out, "{}", text!("search-empty"))?;
    }
    out.flush()?;
    // Exits with 1 if nothing was found, as other search programs do.
    Ok(if hits.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Writes the hits of each session below a line with its id, date and title; the session with the
/// best hit comes first.
fn table(
    out: &mut impl Write,
    log: &Log,
    hits: &[Hit],
    question: &str,
    sessions: &[Session],
) -> Result<()> {
    let ids = ids(sessions);
    let mut groups: Vec<(Option<&str>, Vec<&Hit>)> = Vec::new();
    for hit in hits {
        let session = hit.session.as_deref();
        match groups.iter_mut().find(|(known, _)| *known == session) {
            Some((_, hits)) => hits.push(hit),
            None => groups.push((session, vec![hit])),
        }
    }
    for (id, hits) in groups {
        let session = sessions.iter().find(|session| Some(session.id.as_str()) == id);
        let name = id.map_or_else(|| text!("search-abandoned"), |id| short(id, &ids));
        let title = session.map_or("", |session| session.title.as_str());
        let numbering = session.map(|it| log.numbering(it)).transpose()?.unwrap_or_default();
        writeln!(out, "{}", truncate(format!("{name}  {}", plain(title)).trim_end(), room(0)))?;
        for hit in hits {
            let start = format!(
                "  {}  {:>6}  {}  ",
                date(hit.entry.time),
                message_number(&numbering, hit.entry.position),
                pad(&role(hit.entry.role), 9)
            );
            let chars = room(width(&start)).min(MAX_PASSAGE_CHARS);
            let passage = hit
                .passage(question, chars.saturating_sub(2), parse_stored)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            writeln!(out, "{start}{}", truncate(&passage, chars))?;
        }
    }
    Ok(())
}

/// Returns the day of a time in milliseconds.
fn date(time: i64) -> String {
    utc(time).chars().take(10).collect()
}
