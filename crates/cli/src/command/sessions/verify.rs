//! `waterline sessions verify`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::db::Database;
use crate::input::{output, raw_output};
use crate::show::{count_of, plain};

/// Hash everything again; exit status 1 when something is wrong
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let bar = ProgressBar::new(0);
    if let Ok(style) =
        ProgressStyle::with_template("{spinner} {bar:24} {pos} of {len} messages · {elapsed}")
    {
        bar.set_style(style);
    }
    let found = log.verify(|done, total| {
        if done % 1_000 == 1 {
            bar.set_length(total);
            bar.set_position(done);
        }
    })?;
    bar.finish_and_clear();
    if arguments.json {
        let mut out = raw_output();
        let json = json!({"messages": found.messages, "sessions": found.sessions, "artifacts": found.artifacts, "problems": found.problems});
        writeln!(out, "{json}")?;
        out.flush()?;
    } else {
        let mut out = output();
        let (messages, sessions) =
            (count_of(found.messages, "message"), count_of(found.sessions, "session"));
        writeln!(
            out,
            "{messages}, {sessions}, {}: as they were stored",
            count_of(found.artifacts, "artifact")
        )?;
        for problem in &found.problems {
            writeln!(out, "wrong: {}", plain(problem))?;
        }
        out.flush()?;
    }
    Ok(if found.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
