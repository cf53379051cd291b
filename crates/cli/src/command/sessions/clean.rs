//! `waterline sessions clean`: what nobody has used for long.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use waterline_log::{Filter, Log, Whom};

use super::erase::{as_json, write_report};
use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::plain;
use crate::workspace;

const DAY: i64 = 86_400_000;

/// Delete sessions that nobody has used for long, and old workspaces. Without `--yes` it only says what would go
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Sessions not used for so many days
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    idle: u32,
    /// Workspaces of sessions not used for so many days
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    workspaces: u32,
    /// Do it
    #[arg(long)]
    yes: bool,
    /// One JSON object: what went, or would go
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let before = |days: u32| log.now() - i64::from(days) * DAY;
    let folders = workspaces(&log, before(arguments.workspaces))?;
    let whom = Whom::IdleSince(before(arguments.idle));
    let erased = if arguments.yes { log.erase(&whom)? } else { log.would_erase(&whom)? };
    let mut kept = Vec::new();
    if arguments.yes {
        for (path, session) in &folders {
            if let Err(error) = workspace::remove(path, session) {
                kept.push(format!("{path}: {error:#}"));
            }
        }
    }
    if arguments.json {
        let mut out = raw_output();
        let paths: Vec<&String> = folders.iter().map(|(path, _)| path).collect();
        let mut json = as_json(&erased, arguments.yes);
        if let Some(fields) = json.as_object_mut() {
            fields.insert("workspaces".to_owned(), json!(paths));
            fields.insert("kept".to_owned(), json!(kept));
        }
        writeln!(out, "{json}")?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output();
    for (path, _) in &folders {
        writeln!(out, "{} {}", if arguments.yes { "workspace" } else { "would remove workspace" }, plain(path))?;
    }
    for reason in &kept {
        writeln!(out, "kept {}", plain(reason))?;
    }
    write_report(&mut out, &erased, arguments.yes)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The workspaces of sessions not used since then, if they are there.
fn workspaces(log: &Log, before: i64) -> Result<Vec<(String, String)>> {
    let idle = log.sessions(&Filter { idle_since: Some(before), ..Filter::default() })?;
    let owned = idle.into_iter().filter_map(|session| Some((session.state.workspace_path?, session.id)));
    Ok(owned.filter(|(path, session)| workspace::is_of(path, session)).collect())
}
