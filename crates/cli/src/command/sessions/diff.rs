//! `waterline sessions diff`.

use std::io::Write;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use serde_json::{Value, json};
use waterline_log::{Entry, Log, Session};
use waterline_provider::wire::parse_stored;

use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{message_number, one_line, plain, room, truncate, width};
use crate::text;

const LEFT: Style = AnsiColor::Red.on_default();
const RIGHT: Style = AnsiColor::Green.on_default();

/// Compare two sessions
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// First session (id or unique prefix)
    left: String,
    /// Second session (id or unique prefix)
    right: String,
    /// Messages shown of each session, the first ones; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let left = log.find(&arguments.left)?;
    let right = log.find(&arguments.right)?;
    let shared = log.compare(&left.id, &right.id)?.shared;
    let rest = |session: &Session| log.entries_in(session.tip, shared..session.tip.position());
    let left_rest = rest(&left)?;
    let right_rest = rest(&right)?;
    if arguments.json {
        let line = json!({
            "shared": shared,
            "left": side(&left, &left_rest),
            "right": side(&right, &right_rest),
        });
        let mut out = raw_output();
        writeln!(out, "{line}")?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output();
    head(&mut out, &log, shared, &left)?;
    for (mark, style, session, entries) in
        [('-', LEFT, &left, &left_rest), ('+', RIGHT, &right, &right_rest)]
    {
        let numbering = log.numbering(session)?;
        let own_count = numbering.count(session.tip.position()) - numbering.count(shared);
        let own = text!("diff-own", id = plain(&session.id), count = own_count);
        writeln!(out, "{style}{mark} {own}{style:#}")?;
        let limit = if arguments.limit == 0 { entries.len() } else { arguments.limit };
        for entry in entries.iter().take(limit) {
            let text = one_line(&entry.message(parse_stored));
            writeln!(
                out,
                "{style}{mark}{:>6}  {:<9}{style:#} {}",
                message_number(&numbering, entry.position),
                entry.role.name(),
                truncate(&text, room(20))
            )?;
        }
        if entries.len() > limit {
            let more = text!("diff-more", count = entries.len() - limit);
            writeln!(out, "{style}{mark}{style:#}        {more}")?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns one side for programs.
fn side(session: &Session, entries: &[Entry]) -> Value {
    let entry = |entry: &Entry| {
        json!({
            "position": entry.position,
            "id": entry.id.to_string(),
            "role": entry.role.name(),
            "raw": String::from_utf8_lossy(&entry.bytes),
        })
    };
    let entries: Vec<Value> = entries.iter().map(entry).collect();
    json!({"session": session.id, "messages": session.tip.position(), "entries": entries})
}

fn head(out: &mut impl Write, log: &Log, shared: u64, left: &Session) -> Result<()> {
    if shared == 0 {
        writeln!(out, "{}", text!("diff-nothing-shared"))?;
        return Ok(());
    }
    let last = log.entries_in(left.tip, shared - 1..shared)?.pop();
    let text = last.map(|entry| one_line(&entry.message(parse_stored))).unwrap_or_default();
    let count = log.numbering(left)?.count(shared);
    let start = text!("diff-shared", count = count);
    writeln!(out, "{start}{}", truncate(&text, room(width(&start))))?;
    Ok(())
}
