//! `waterline sessions diff`.

use std::io::Write;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use serde_json::json;
use waterline_log::{Entry, Log, Session};
use waterline_provider::wire::parse_stored;

use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{count, count_of, cut, one_line, plain, room};

const LEFT: Style = AnsiColor::Red.on_default();
const RIGHT: Style = AnsiColor::Green.on_default();

/// Compare two sessions: what they share, and where they part
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// One session's id, or the beginning of it
    left: String,
    /// The other's
    right: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let (left, right) = (log.find(&arguments.left)?, log.find(&arguments.right)?);
    let shared = log.compare(&left.id, &right.id)?.shared;
    let rest = |session: &Session| log.entries_in(session.tip, shared..session.tip.position());
    let (ours, theirs) = (rest(&left)?, rest(&right)?);
    if arguments.json {
        let side = |session: &Session, entries: &[Entry]| {
            let entries: Vec<_> = entries.iter().map(|entry| json!({"position": entry.position, "id": entry.id.to_string(), "role": entry.role.name(), "raw": String::from_utf8_lossy(&entry.bytes)})).collect();
            json!({"session": session.id, "messages": session.tip.position(), "entries": entries})
        };
        let mut out = raw_output();
        writeln!(
            out,
            "{}",
            json!({"shared": shared, "left": side(&left, &ours), "right": side(&right, &theirs)})
        )?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output();
    head(&mut out, &log, shared, &left)?;
    for (mark, style, session, entries) in
        [('-', LEFT, &left, &ours), ('+', RIGHT, &right, &theirs)]
    {
        let own = count(entries.len(), "message");
        writeln!(out, "{style}{mark} {}: {own} of its own{style:#}", plain(&session.id))?;
        for entry in entries {
            let text = one_line(&entry.message(parse_stored));
            writeln!(
                out,
                "{style}{mark}{:>6}  {:<9}{style:#} {}",
                entry.position,
                entry.role.name(),
                cut(&text, room(20))
            )?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn head(out: &mut impl Write, log: &Log, shared: u64, left: &Session) -> Result<()> {
    match shared {
        0 => writeln!(out, "they share nothing")?,
        shared => {
            let last = log.entries_in(left.tip, shared - 1..shared)?;
            let text = last
                .first()
                .map(|entry| one_line(&entry.message(parse_stored)))
                .unwrap_or_default();
            writeln!(
                out,
                "they share {}, up to: {}",
                count_of(shared, "message"),
                cut(&text, room(42))
            )?;
        }
    }
    Ok(())
}
