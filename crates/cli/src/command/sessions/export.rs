//! `waterline sessions export`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use waterline_log::{Log, LogError};

use crate::db::{Database, chosen};
use crate::files::Output;
use crate::input::raw_output;

/// Write sessions as JSON lines, complete: importing them gives the same ids
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Ids, or the beginnings of them (default: all sessions)
    ids: Vec<String>,
    /// The file to write (default: standard output)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let ids: Vec<String> = chosen(&log, &arguments.ids)?.into_iter().map(|session| session.id).collect();
    if ids.is_empty() {
        bail!("there is no session to export");
    }
    match &arguments.output {
        Some(path) if path.is_file() && !arguments.force => {
            bail!("{} is there already; `--force` writes over it", path.display())
        }
        Some(path) => {
            let mut file = Output::create(path, &[])?;
            write(&log, &ids, &mut file)?;
            file.finish()?;
            anstream::eprintln!("{} sessions written", ids.len());
        }
        None => {
            let mut out = raw_output();
            write(&log, &ids, &mut out)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write(log: &Log, ids: &[String], out: &mut dyn Write) -> Result<()> {
    log.export(ids, out).map_err(|error| match error {
        // A reader who has seen enough is told by the kind of the error itself.
        LogError::Output(error) => error.into(),
        other => other.into(),
    })
}
