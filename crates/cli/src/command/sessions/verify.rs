//! `waterline sessions verify`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use crate::db::Database;
use crate::input::{output, raw_output};
use crate::phrase::phrase;
use crate::show::plain;
use crate::text;

/// Verify the hashes of the whole log; exit status 1 if something is damaged
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_damaged()?;
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {bar:24} {pos}/{len} · {elapsed}") {
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
        writeln!(out, "{}", serde_json::to_string(&found)?)?;
        out.flush()?;
    } else {
        let mut out = output();
        let checked = text!(
            "verify-checked",
            messages = found.messages,
            sessions = found.sessions,
            artifacts = found.artifacts
        );
        let result = match found.problems.len() {
            0 => text!("verify-ok"),
            count => text!("verify-problems", count = count),
        };
        writeln!(out, "{}", text!("labeled", label = checked, text = result))?;
        for problem in &found.problems {
            writeln!(out, "{}", text!("verify-problem", what = plain(&phrase(problem))))?;
        }
        out.flush()?;
    }
    Ok(if found.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
