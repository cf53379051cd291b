//! `waterline sessions export`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use waterline_log::{Exported, Log, LogError};

use crate::db::{Database, chosen};
use crate::files::Output;
use crate::input::raw_output;
use crate::phrase::phrase;
use crate::show::{markdown, plain};
use crate::text;

/// Write sessions as JSON lines
///
/// The export is complete: importing it gives the same ids. A damaged session is written up to the
/// damage, and the exit status is 1.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Sessions to export (ids or unique prefixes; default: all)
    ids: Vec<String>,
    /// File to write (default: standard output)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Write readable Markdown instead of JSON lines
    #[arg(long)]
    markdown: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_damaged()?;
    let mut ids = Vec::new();
    if !arguments.ids.is_empty() {
        ids = chosen(&log, &arguments.ids)?.into_iter().map(|session| session.id).collect();
        ids.sort();
        ids.dedup();
    }
    let exported = match &arguments.output {
        Some(path) if path.is_file() && !arguments.force => {
            bail!(text!("file-exists", path = path.display().to_string()))
        }
        Some(path) => {
            let mut file = Output::private(path)?;
            let exported = write(&log, &ids, arguments.markdown, &mut file)?;
            file.finish()?;
            let sessions = exported.sessions;
            let messages = exported.messages - exported.prompts;
            anstream::eprintln!(
                "{}",
                text!("export-done", sessions = sessions, messages = messages)
            );
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
        anstream::eprintln!("waterline: {}", text!("export-damaged", what = plain(&phrase(text))));
    }
    Ok(if exported.damaged.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write(log: &Log, ids: &[String], markdown: bool, out: &mut dyn Write) -> Result<Exported> {
    if markdown {
        return readable(log, ids, out);
    }
    log.export(ids, out).map_err(|error| match error {
        // A closed pipe is recognized by the kind of the io error.
        LogError::Output(error) => std::io::Error::new(error.kind(), error).into(),
        other => other.into(),
    })
}

/// Writes the sessions one after the other as Markdown.
fn readable(log: &Log, ids: &[String], out: &mut dyn Write) -> Result<Exported> {
    let mut exported = Exported::default();
    for session in chosen(log, ids)? {
        exported.messages += markdown(out, log, &session)?;
        exported.sessions += 1;
    }
    Ok(exported)
}
