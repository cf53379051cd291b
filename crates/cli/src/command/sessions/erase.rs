//! `waterline sessions erase`.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use serde_json::{Value, json};
use waterline_agent::expiry::{self, Workspace, Workspaces};
use waterline_config::{Config, workspaces};
use waterline_log::{Erased, Log, Whom};

use crate::db::Database;
use crate::environment::environment;
use crate::input::{output, raw_output};
use crate::show::{count, count_of, plain};

/// Delete a session with its sub-agents and workspaces, or everything of a user, for good. Without
/// `--yes` it only says what would go. Whoever imports the same file again has the session again
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
    // Without a home there is no such place; a folder that names its session is known all the same.
    let place = workspaces(&Config::load(Arc::clone(environment()))?).unwrap_or_default();
    let folders = expiry::of(&log, &log.would_erase(&whom)?.sessions, place)?;
    carry_out(&log, &whom, &folders, arguments.yes, arguments.json)
}

/// Deletes, or with no yes only looks, and says what went or would go.
pub fn carry_out(
    log: &Log,
    whom: &Whom,
    folders: &Workspaces,
    yes: bool,
    json: bool,
) -> Result<ExitCode> {
    let erased = if yes { log.erase(whom)? } else { log.would_erase(whom)? };
    let kept = if yes { folders.remove() } else { folders.kept.clone() };
    if json {
        let mut out = raw_output();
        writeln!(out, "{}", as_json(&erased, yes, &folders.expired, &kept))?;
        out.flush()?;
    } else {
        let mut out = output();
        write_workspaces(&mut out, folders, &kept, yes)?;
        write_report(&mut out, &erased, yes)?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What went, or would go, for programs.
fn as_json(erased: &Erased, done: bool, folders: &[Workspace], kept: &[String]) -> Value {
    json!({
        "done": done,
        "sessions": erased.sessions,
        "is_clean": !done || erased.is_clean,
        "workspaces": folders.iter().map(|folder| &folder.path).collect::<Vec<_>>(),
        "kept": kept,
        "messages": erased.messages,
        "bytes": erased.bytes,
        "shared": erased.shared,
        "steps": erased.steps,
        "rows": erased.rows,
    })
}

/// Which workspaces went, or would go.
fn write_workspaces(
    out: &mut impl Write,
    folders: &Workspaces,
    kept: &[String],
    done: bool,
) -> Result<()> {
    for folder in &folders.expired {
        writeln!(
            out,
            "{} {}",
            if done { "workspace" } else { "would remove workspace" },
            plain(&folder.path)
        )?;
    }
    for reason in kept {
        writeln!(out, "{} {}", if done { "kept" } else { "would keep" }, plain(reason))?;
    }
    Ok(())
}

/// What went, or would go, for people.
fn write_report(out: &mut impl Write, erased: &Erased, done: bool) -> Result<()> {
    for id in &erased.sessions {
        writeln!(out, "{} {}", if done { "erased" } else { "would erase" }, plain(id))?;
    }
    let (sessions, messages) =
        (count(erased.sessions.len(), "session"), count_of(erased.messages, "message"));
    writeln!(out, "{sessions}, {messages} of their own ({})", count_of(erased.bytes, "byte"))?;
    if erased.shared > 0 {
        writeln!(
            out,
            "{} stay, because other sessions have them too",
            count_of(erased.shared, "message")
        )?;
    }
    let mut rows: Vec<String> =
        erased.rows.iter().map(|(table, rows)| count_of(*rows, table)).collect();
    rows.extend((erased.steps > 0).then(|| count_of(erased.steps, "call that was sent")));
    if !rows.is_empty() {
        writeln!(out, "with them: {}", rows.join(", "))?;
    }
    if done && !erased.is_clean {
        writeln!(
            out,
            "somebody is reading the log, or the disk is full: what was deleted may still lie in its files"
        )?;
        writeln!(out, "`waterline sessions clean --yes` cleans them")?;
    }
    if !done && !erased.sessions.is_empty() {
        writeln!(out, "nothing was deleted; `--yes` does it, and it cannot be undone")?;
    }
    Ok(())
}
