//! `waterline sessions list`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline_log::{Filter, Log, Relation, Session};

use super::{ago, ids, relation, short};
use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{align_right, number, pad, room, truncate, width};
use crate::text;

/// List the sessions, latest first
///
/// Ids are shortened to a unique prefix.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// List only the sessions of this user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Maximum number of sessions (0 for all)
    #[arg(long, short = 'n', value_name = "N", default_value_t = 0)]
    limit: usize,
    /// Print one JSON object per session
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let filter = Filter { user: arguments.user.clone(), ..Filter::default() };
    let mut sessions = log.sessions(&filter)?;
    // A chat that was killed before the first message leaves one without any.
    sessions.retain(|session| !session.is_blank());
    let all = sessions.len();
    if arguments.limit > 0 {
        sessions.truncate(arguments.limit);
    }
    if arguments.json {
        let mut out = raw_output();
        for session in &sessions {
            writeln!(out, "{}", serde_json::to_string(session)?)?;
        }
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output();
    if sessions.is_empty() {
        writeln!(out, "{}", text!("list-empty"))?;
    } else {
        table(&mut out, &log, &sessions)?;
    }
    if sessions.len() < all {
        writeln!(out, "{}", text!("list-more", count = all - sessions.len()))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn table(out: &mut impl Write, log: &Log, sessions: &[Session]) -> Result<()> {
    let now = log.now();
    let ids = ids(sessions);
    let names: Vec<String> = sessions.iter().map(|session| short(&session.id, &ids)).collect();
    let wide = names.iter().map(|name| width(name)).max().unwrap_or(0).max(7);
    writeln!(
        out,
        "{}  {}  {}  {}  {}",
        pad(&text!("list-session"), wide),
        align_right(&text!("list-messages"), 8),
        pad(&text!("list-used"), 10),
        pad(&text!("list-model"), 15),
        text!("list-title")
    )?;
    for (session, name) in sessions.iter().zip(&names) {
        let count = log.numbering(session)?.count(session.tip.position());
        let model = truncate(session.model.as_deref().unwrap_or("–"), 15);
        let kind = match session.relation {
            Relation::Main => String::new(),
            other => format!("[{}] ", relation(other)),
        };
        writeln!(
            out,
            "{}  {:>8}  {}  {}  {}",
            pad(name, wide),
            number(usize::try_from(count).unwrap_or(usize::MAX)),
            pad(&ago(now, session.active), 10),
            pad(&model, 15),
            truncate(&format!("{kind}{}", session.title), room(wide + 41))
        )?;
    }
    Ok(())
}
