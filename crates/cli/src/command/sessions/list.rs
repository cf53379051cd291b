//! `waterline sessions list`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline_log::{Filter, Log, Relation, Session};

use super::{ago, json_of};
use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{cut, number, pad, plain, room, width};

/// List the sessions, the one used last first
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only those of this user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
    /// One JSON object a session
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let filter = Filter { user: arguments.user.clone(), ..Filter::default() };
    let mut sessions = log.sessions(&filter)?;
    let all = sessions.len();
    sessions.truncate(arguments.limit.unwrap_or(usize::MAX));
    if arguments.json {
        let mut out = raw_output();
        for session in &sessions {
            writeln!(out, "{}", json_of(session))?;
        }
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output();
    if sessions.is_empty() {
        writeln!(out, "no sessions")?;
    } else {
        table(&mut out, &log, &sessions)?;
    }
    if sessions.len() < all {
        writeln!(out, "… and {} more", number(all - sessions.len()))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn table(out: &mut impl Write, log: &Log, sessions: &[Session]) -> Result<()> {
    let now = log.now();
    let names: Vec<String> = sessions.iter().map(|session| plain(&session.id)).collect();
    let wide = names.iter().map(|name| width(name)).max().unwrap_or(0).clamp(7, 40);
    writeln!(out, "{}  messages  used        model                 title", pad("session", wide))?;
    for (session, name) in sessions.iter().zip(&names) {
        let model = cut(session.model.as_deref().unwrap_or("–"), 20);
        let kind = match session.relation {
            Relation::Main => String::new(),
            relation => format!("[{}] ", relation.name()),
        };
        writeln!(
            out,
            "{}  {:>8}  {:<10}  {}  {}",
            pad(&cut(name, wide), wide),
            number(usize::try_from(session.tip.position()).unwrap_or(usize::MAX)),
            ago(now, session.active),
            pad(&model, 20),
            cut(&format!("{kind}{}", session.title), room(wide + 46))
        )?;
    }
    Ok(())
}
