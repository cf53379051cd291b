//! `waterline sessions stats`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline_log::Stats;

use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{number, pad};
use crate::text;

/// Show statistics of the log
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let stats = log.stats()?;
    let mut out = if arguments.json { raw_output() } else { output() };
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string(&stats)?)?;
    } else {
        writeln!(out, "{}", log.url())?;
        for (name, value) in rows(&stats) {
            writeln!(out, "{} {value}", pad(&name, 22))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn rows(stats: &Stats) -> Vec<(String, String)> {
    let size = |count: u64| number(usize::try_from(count).unwrap_or(usize::MAX));
    let [input, read, written] = stats.prompt;
    let mut rows = vec![
        (
            text!("stats-sessions"),
            text!("stats-sessions-value", sessions = stats.sessions, users = stats.users),
        ),
        (
            text!("stats-messages"),
            text!(
                "stats-messages-value",
                messages = stats.messages - stats.prompts,
                prompts = stats.prompts,
                unique = stats.contents
            ),
        ),
        (text!("stats-branches"), size(stats.branches)),
        (text!("stats-tokens"), size(stats.tokens)),
        (
            text!("stats-message-bytes"),
            text!(
                "stats-message-bytes-value",
                bytes = stats.message_bytes,
                stored = stats.stored_bytes
            ),
        ),
        (text!("stats-database-bytes"), database_size(stats)),
        (text!("stats-folds"), size(stats.generations)),
        (text!("stats-summaries"), size(stats.summaries)),
        (text!("stats-checkpoints"), size(stats.checkpoints)),
        (
            text!("stats-artifacts"),
            text!("stats-artifacts-value", count = stats.artifacts, bytes = stats.artifact_bytes),
        ),
        (
            text!("stats-file-versions"),
            text!(
                "stats-artifacts-value",
                count = stats.file_versions,
                bytes = stats.file_version_bytes
            ),
        ),
        (
            text!("stats-calls"),
            text!(
                "stats-calls-value",
                calls = stats.calls,
                input = input,
                read = read,
                written = written,
                output = stats.output
            ),
        ),
    ];
    if stats.price > 0 {
        let price = format!("{}.{:06}", stats.price / 1_000_000, stats.price % 1_000_000);
        rows.push((text!("stats-price"), price));
    }
    if stats.jobs + stats.failed_jobs > 0 {
        let value = text!("stats-jobs-value", waiting = stats.jobs, failed = stats.failed_jobs);
        rows.push((text!("stats-jobs"), value));
    }
    rows
}

/// Returns the size of the database, with its ratio to the size of the messages.
fn database_size(stats: &Stats) -> String {
    let bytes = stats.database_bytes;
    if stats.message_bytes == 0 {
        return text!("stats-bytes", bytes = bytes);
    }
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    let ratio = bytes as f64 / stats.message_bytes as f64;
    text!("stats-database-bytes-value", bytes = bytes, ratio = format!("{ratio:.2}"))
}
