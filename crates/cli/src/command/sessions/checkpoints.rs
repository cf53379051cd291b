//! `waterline sessions checkpoints`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;

use crate::checkpoints::line;
use crate::db::Database;
use crate::input::{output, raw_output};
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
    let numbering = log.numbering(&session)?;
    let mut out = if arguments.json { raw_output() } else { output() };
    if checkpoints.is_empty() && !arguments.json {
        writeln!(out, "{}", text!("checkpoints-none"))?;
    }
    for checkpoint in &checkpoints {
        match arguments.json {
            true => writeln!(out, "{}", serde_json::to_string(checkpoint)?)?,
            false => writeln!(out, "{}", line(checkpoint, &numbering))?,
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
