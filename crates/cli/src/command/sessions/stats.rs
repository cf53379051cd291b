//! `waterline sessions stats`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline_log::Stats;

use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{count_of, number};

/// Say how much there is
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// One JSON object
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
            writeln!(out, "{name:<22} {value}")?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn rows(stats: &Stats) -> Vec<(&'static str, String)> {
    let size = |count: u64| number(usize::try_from(count).unwrap_or(usize::MAX));
    let [input, read, written] = stats.prompt;
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    let ratio = stats.database_bytes as f64 / stats.message_bytes as f64;
    let ratio = if stats.message_bytes > 0 {
        format!(" ({ratio:.2} per byte of message)")
    } else {
        String::new()
    };
    let mut rows = vec![
        ("sessions", format!("{} of {}", size(stats.sessions), count_of(stats.users, "user"))),
        ("messages", format!("{}, {} different ones", size(stats.messages), size(stats.contents))),
        ("branches", size(stats.branches)),
        ("tokens", size(stats.tokens)),
        (
            "bytes of messages",
            format!("{}, stored as {}", size(stats.message_bytes), size(stats.stored_bytes)),
        ),
        ("bytes of the database", format!("{}{ratio}", size(stats.database_bytes))),
        ("folds", size(stats.generations)),
        ("summaries", size(stats.summaries)),
        ("checkpoints", size(stats.checkpoints)),
        ("artifacts", format!("{} ({} bytes)", size(stats.artifacts), size(stats.artifact_bytes))),
    ];
    let tokens = format!(
        "{} in, {} cached, {} written, {} out",
        size(input),
        size(read),
        size(written),
        size(stats.output)
    );
    rows.push(("model calls", format!("{}: {tokens}", size(stats.calls))));
    if stats.price > 0 {
        rows.push(("price", format!("{}.{:06}", stats.price / 1_000_000, stats.price % 1_000_000)));
    }
    if stats.jobs + stats.failed_jobs > 0 {
        rows.push((
            "jobs",
            format!("{} waiting, {} failed", size(stats.jobs), size(stats.failed_jobs)),
        ));
    }
    rows
}
