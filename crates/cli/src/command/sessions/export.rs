//! `waterline sessions export`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use waterline_log::{Exported, Log, LogError};

use crate::db::{Database, chosen};
use crate::files::Output;
use crate::input::raw_output;
use crate::show::{count_of, markdown, plain};

/// Write sessions as JSON lines, complete: importing them gives the same ids. Of a damaged session,
/// what comes before the damage is written, and the exit status is 1
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Ids, or the beginnings of them (default: everything)
    ids: Vec<String>,
    /// The file to write (default: standard output)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
    /// Write Markdown for people to read, not JSON lines: what was said and done, without what only
    /// programs need
    #[arg(long)]
    markdown: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let mut ids = Vec::new();
    if !arguments.ids.is_empty() {
        ids = chosen(&log, &arguments.ids)?.into_iter().map(|session| session.id).collect();
        ids.sort();
        ids.dedup();
    }
    let exported = match &arguments.output {
        Some(path) if path.is_file() && !arguments.force => {
            bail!("{} is there already; `--force` writes over it", path.display())
        }
        Some(path) => {
            let mut file = Output::private(path)?;
            let exported = write(&log, &ids, arguments.markdown, &mut file)?;
            file.finish()?;
            let (sessions, messages) =
                (count_of(exported.sessions, "session"), count_of(exported.messages, "message"));
            anstream::eprintln!("{sessions}, {messages} written");
            exported
        }
        None => {
            let mut out = raw_output();
            let exported = write(&log, &ids, arguments.markdown, &mut out)?;
            out.flush()?;
            exported
        }
    };
    for text in &exported.damaged {
        anstream::eprintln!("waterline: damaged, left out: {}", plain(text));
    }
    Ok(if exported.damaged.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write(log: &Log, ids: &[String], markdown: bool, out: &mut dyn Write) -> Result<Exported> {
    if markdown {
        return readable(log, ids, out);
    }
    log.export(ids, out).map_err(|error| match error {
        // A reader who has seen enough is told by the kind of the error itself.
        LogError::Output(error) => std::io::Error::new(error.kind(), error).into(),
        other => other.into(),
    })
}

/// The sessions one after the other, for people to read.
fn readable(log: &Log, ids: &[String], out: &mut dyn Write) -> Result<Exported> {
    let mut exported = Exported::default();
    for session in chosen(log, ids)? {
        exported.messages += markdown(out, log, &session)?;
        exported.sessions += 1;
    }
    Ok(exported)
}
