//! `waterline sessions diff`.

use std::io::Write;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use waterline_log::{Difference, Log, Session, Side};
use waterline_provider::wire::parse_stored;

use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{message_number, one_line, pad, plain, role, room, truncate, width};
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
    let found = log.difference(left, right)?;
    if arguments.json {
        let mut out = raw_output();
        writeln!(out, "{}", serde_json::to_string(&found)?)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let Difference { shared, left, right, .. } = found;
    let mut out = output();
    head(&mut out, &log, shared, &left.session)?;
    for (mark, style, Side { session, entries, .. }) in [('-', LEFT, &left), ('+', RIGHT, &right)] {
        let numbering = log.numbering(session)?;
        let own_count = numbering.count(session.tip.position()) - numbering.count(shared);
        let own = text!("diff-own", id = plain(&session.id), count = own_count);
        writeln!(out, "{style}{mark} {own}{style:#}")?;
        let limit = if arguments.limit == 0 { entries.len() } else { arguments.limit };
        for entry in entries.iter().take(limit) {
            let text = one_line(&entry.message(parse_stored));
            writeln!(
                out,
                "{style}{mark}{:>6}  {}{style:#} {}",
                message_number(&numbering, entry.position),
                pad(&role(entry.role), 9),
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
