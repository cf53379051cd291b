//! `waterline sessions checkpoints`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use waterline_log::Checkpoint;

use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::plain;
use crate::text;

/// List the checkpoints of a session
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session (id or unique prefix)
    id: String,
    /// Print one JSON object per checkpoint
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let session = log.find(&arguments.id)?;
    let checkpoints = log.checkpoints(&session.id)?;
    let mut out = if arguments.json { raw_output() } else { output() };
    for checkpoint in &checkpoints {
        match arguments.json {
            true => writeln!(out, "{}", serde_json::to_string(checkpoint)?)?,
            false => writeln!(out, "{}", line(checkpoint))?,
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Formats a checkpoint on one line: its number, its messages and what it was made after.
pub fn line(checkpoint: &Checkpoint) -> String {
    let field = |name: &str| checkpoint.metadata.get(name);
    let after = field("after").and_then(serde_json::Value::as_str).unwrap_or_default();
    let step = field("step").and_then(serde_json::Value::as_u64).unwrap_or_default();
    let shown = text!(
        "checkpoint-line",
        count = checkpoint.checkpoint.messages,
        after = plain(after),
        step = step
    );
    format!("{:>6}  {shown}", number(&checkpoint.checkpoint_id))
}

/// Returns the id of a checkpoint without leading zeros.
fn number(id: &str) -> &str {
    id.trim_start_matches('0')
}

/// Finds a checkpoint by its id, with or without leading zeros.
pub fn find<'a>(checkpoints: &'a [Checkpoint], id: &str) -> Option<&'a Checkpoint> {
    checkpoints.iter().find(|known| number(&known.checkpoint_id) == number(id))
}
