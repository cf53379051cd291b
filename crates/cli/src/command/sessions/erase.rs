//! `waterline sessions erase`.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use serde::Serialize;
use waterline_agent::expiry::{self, Workspaces};
use waterline_config::{Config, workspaces};
use waterline_log::{EraseReport, EraseTarget, Log};

use crate::db::Database;
use crate::environment::environment;
use crate::input::{output, raw_output};
use crate::lang::list;
use crate::show::plain;
use crate::text;

/// Delete a session, or all data of a user; without --yes, only list what would be deleted
///
/// A session is deleted with its sub-agents and workspaces. Importing the same file again restores
/// the session.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    whom: Target,
    /// Delete, instead of only listing
    #[arg(long)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// Session to delete (id or unique prefix)
    id: Option<String>,
    /// Delete everything of this user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let whom = match (&arguments.whom.id, &arguments.whom.user) {
        (Some(id), _) => EraseTarget::Session(log.find(id)?.id),
        (None, user) => EraseTarget::User(user.clone().unwrap_or_default()),
    };
    // Without a home directory there is no default parent; a workspace that names its session is
    // found anyway.
    let parent = workspaces(&Config::load(Arc::clone(environment()))?).unwrap_or_default();
    let workspaces = expiry::of(&log, &log.would_erase(&whom)?.sessions, parent)?;
    erase(&log, &whom, &workspaces, arguments.yes, arguments.json)
}

/// Deletes, or without `yes` only lists, and reports it.
pub fn erase(
    log: &Log,
    whom: &EraseTarget,
    workspaces: &Workspaces,
    yes: bool,
    json: bool,
) -> Result<ExitCode> {
    let mut erased = if yes { log.erase(whom)? } else { log.would_erase(whom)? };
    // Nothing was deleted, so nothing is left in the files.
    erased.is_clean |= !yes;
    let kept = if yes { workspaces.remove() } else { workspaces.kept.clone() };
    if json {
        let mut out = raw_output();
        let removed = workspaces.expired.iter().map(|workspace| workspace.path.as_str());
        let line =
            ReportLine { done: yes, erased: &erased, workspaces: removed.collect(), kept: &kept };
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
        out.flush()?;
    } else {
        let mut out = output();
        write_workspaces(&mut out, workspaces, &kept, yes)?;
        write_report(&mut out, &erased, yes)?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What was or would be deleted, for programs.
#[derive(Serialize)]
struct ReportLine<'a> {
    done: bool,
    #[serde(flatten)]
    erased: &'a EraseReport,
    workspaces: Vec<&'a str>,
    kept: &'a [String],
}

/// Writes which workspaces were or would be removed.
fn write_workspaces(
    out: &mut impl Write,
    workspaces: &Workspaces,
    kept: &[String],
    done: bool,
) -> Result<()> {
    for workspace in &workspaces.expired {
        let path = plain(&workspace.path);
        let line = if done {
            text!("erase-workspace", path = path)
        } else {
            text!("erase-would-workspace", path = path)
        };
        writeln!(out, "{line}")?;
    }
    for reason in kept {
        let reason = plain(reason);
        let line = if done {
            text!("erase-kept", reason = reason)
        } else {
            text!("erase-would-keep", reason = reason)
        };
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Writes what was or would be deleted, for people.
fn write_report(out: &mut impl Write, erased: &EraseReport, done: bool) -> Result<()> {
    for id in &erased.sessions {
        let id = plain(id);
        let line =
            if done { text!("erase-session", id = id) } else { text!("erase-would", id = id) };
        writeln!(out, "{line}")?;
    }
    let total = text!(
        "erase-total",
        sessions = erased.sessions.len(),
        messages = erased.messages,
        bytes = erased.bytes
    );
    writeln!(out, "{total}")?;
    if erased.shared > 0 {
        writeln!(out, "{}", text!("erase-shared", count = erased.shared))?;
    }
    let rows = rows(erased);
    if !rows.is_empty() {
        writeln!(out, "{}", text!("erase-with", rows = list(&rows)))?;
    }
    if done && !erased.is_clean {
        writeln!(out, "{}", text!("erase-not-clean"))?;
    }
    if !done && !erased.sessions.is_empty() {
        writeln!(out, "{}", text!("erase-nothing-done"))?;
    }
    Ok(())
}

/// Returns what is deleted with the sessions, besides their messages.
fn rows(erased: &EraseReport) -> Vec<String> {
    let rows = erased.rows.iter().map(|(table, rows)| rows_of(table, *rows));
    let contexts = text!("erase-contexts", count = erased.contexts);
    rows.chain((erased.contexts > 0).then_some(contexts)).collect()
}

/// Formats a number of rows of a kind.
fn rows_of(kind: &str, count: u64) -> String {
    text!("erase-rows", kind = kind, count = count)
}
