//! `waterline config`: settings, and where each comes from.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;

use crate::config::{Config, files, origin};
use crate::input::{output, raw_output};
use crate::lang::say;
use crate::show::{lines, pad, plain};

/// Show settings, and where each comes from
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Every value that is set, and where it comes from: built in < user's file < project's file < .env < environment
    Show {
        /// One JSON object a value
        #[arg(long)]
        json: bool,
    },
    /// The files that are looked for, and whether they are there
    Files,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match arguments.command {
        Action::Show { json } => show(json)?,
        Action::Files => {
            let mut out = output();
            for path in files() {
                let there = if path.is_file() { "" } else { "  (not there)" };
                writeln!(out, "{}{there}", path.display())?;
            }
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(json: bool) -> Result<()> {
    // A file that cannot be used is said first: its values would not hold. So is what of it does not hold.
    for (en, zh) in Config::load()?.notices {
        anstream::eprintln!("waterline: {}", lines(&say(en, zh)));
    }
    let values = origin::values()?;
    if json {
        let mut out = raw_output();
        for value in &values {
            writeln!(out, "{}", serde_json::to_string(value)?)?;
        }
        return Ok(out.flush()?);
    }
    let mut out = output();
    let wide = values.iter().map(|value| value.key.len()).max().unwrap_or(0);
    let wider = values.iter().map(|value| value.value.len()).max().unwrap_or(0).min(40);
    for value in &values {
        writeln!(
            out,
            "{}  {}  {}",
            pad(&plain(&value.key), wide),
            pad(&plain(&value.value), wider),
            plain(&value.origin)
        )?;
    }
    Ok(out.flush()?)
}
