//! `waterline sessions erase`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use waterline_log::{Erased, Whom};

use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{number, plain};

/// Delete a session with its sub-agents, or everything of a user, for good. Without `--yes` it only says what would go
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    whom: Target,
    /// Do it
    #[arg(long)]
    yes: bool,
    /// One JSON object: what went, or would go
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// The session's id, or the beginning of it
    id: Option<String>,
    /// Everything of this user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let whom = match (&arguments.whom.id, &arguments.whom.user) {
        (Some(id), _) => Whom::Session(log.find(id)?.id),
        (None, user) => Whom::User(user.clone().unwrap_or_default()),
    };
    let erased = if arguments.yes { log.erase(&whom)? } else { log.would_erase(&whom)? };
    if arguments.json {
        let mut out = raw_output();
        writeln!(out, "{}", as_json(&erased, arguments.yes))?;
        out.flush()?;
    } else {
        let mut out = output();
        write_report(&mut out, &erased, arguments.yes)?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What went, or would go, for programs.
pub fn as_json(erased: &Erased, done: bool) -> Value {
    json!({
        "done": done,
        "sessions": erased.sessions,
        "workspaces": erased.workspaces,
        "messages": erased.messages,
        "bytes": erased.bytes,
        "shared": erased.shared,
        "steps": erased.steps,
        "rows": erased.rows,
    })
}

/// What went, or would go, for people.
pub fn write_report(out: &mut impl Write, erased: &Erased, done: bool) -> Result<()> {
    let size = |count: u64| number(usize::try_from(count).unwrap_or(usize::MAX));
    for id in &erased.sessions {
        writeln!(out, "{} {}", if done { "erased" } else { "would erase" }, plain(id))?;
    }
    let (count, messages, bytes) = (erased.sessions.len(), size(erased.messages), size(erased.bytes));
    writeln!(out, "{count} sessions, {messages} messages of their own ({bytes} bytes)")?;
    if erased.shared > 0 {
        writeln!(out, "{} messages stay, because other sessions have them too", size(erased.shared))?;
    }
    let rows: Vec<String> = erased.rows.iter().map(|(table, count)| format!("{count} × {table}")).collect();
    if !rows.is_empty() || erased.steps > 0 {
        writeln!(out, "with them: {} steps that were sent; {}", size(erased.steps), rows.join(", "))?;
    }
    if !done && !erased.sessions.is_empty() {
        writeln!(out, "nothing was deleted; `--yes` does it, and it cannot be undone")?;
    }
    Ok(())
}
