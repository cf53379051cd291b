//! `waterline sessions import`.

use std::io::{BufRead, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use waterline::Models;
use waterline_log::Log;
use waterline_provider::wire::parse_stored;
use waterline_transcript::{Source, archive};

use crate::db::Database;
use crate::error::describe;
use crate::input::{output, raw_output};
use crate::sessions;
use crate::settings;
use crate::show::plain;
use crate::text;

/// Import session files in any supported format, and exports
///
/// Messages that are already stored are not stored again.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session files, exports, or directories of them; `-` for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// User the imported sessions belong to
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Counts of what was imported.
#[derive(Default, Serialize)]
struct Counters {
    files: usize,
    sessions: usize,
    continued: usize,
    messages: usize,
    /// Sessions that continued differently in the log.
    forked: Vec<String>,
    /// Errors about files that are not sessions.
    refused: Vec<String>,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let files = sessions::files(&arguments.files)?;
    let into = Destination {
        log: &database.open()?,
        user: arguments.user.as_deref(),
        models: settings::models()?,
    };
    let bar = progress(&files);
    let mut counters = Counters::default();
    let mut is_named_refused = false;
    for file in &files {
        let size = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
        let before = bar.position();
        match import(&into, file, &bar, &mut counters) {
            Ok(()) => counters.files += 1,
            // A directory may contain other files; a named file must be a session.
            Err(error) if files.len() > 1 && is_refusal(&error) => {
                counters.refused.push(describe(&error));
                is_named_refused |= arguments.files.contains(file);
            }
            Err(error) => return Err(error),
        }
        bar.set_position(before + size);
    }
    bar.finish_and_clear();
    sessions::show_refused(&counters.refused);
    if counters.files == 0 {
        return Err(anyhow!(text!("sessions-none-readable")));
    }
    report(arguments, &counters)?;
    Ok(if is_named_refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Whether a file is not a session. Any other error, such as from the log, ends the import.
fn is_refusal(error: &anyhow::Error) -> bool {
    error.downcast_ref::<waterline_transcript::TranscriptError>().is_some()
}

/// Where conversations are imported, and for whom.
struct Destination<'a> {
    log: &'a Log,
    user: Option<&'a str>,
    /// The catalog that decides how tokens are counted.
    models: Models,
}

fn import(
    into: &Destination<'_>,
    file: &Path,
    bar: &ProgressBar,
    counters: &mut Counters,
) -> Result<()> {
    let source = sessions::of_file(file)?;
    if is_log(&source)? {
        bail!(text!("import-is-log", path = file.display().to_string()));
    }
    if is_export(&source)? {
        return import_lines(into.log, &source, bar, counters)
            .with_context(|| file.display().to_string());
    }
    let mut failed = None;
    let report = waterline_transcript::read(&source, |transcript| {
        match archive::import(into.log, &transcript, into.user, &into.models) {
            Ok(added) => {
                counters.messages += added.messages;
                counters.sessions += usize::from(added.is_new);
                counters.continued += usize::from(added.continued);
                counters.forked.extend(added.forked);
                bar.set_message(progress_text(counters));
                ControlFlow::Continue(())
            }
            Err(error) => {
                failed = Some(anyhow::Error::from(error));
                ControlFlow::Break(())
            }
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let notices = report?.notices;
    bar.suspend(|| sessions::show_notices(&file.display().to_string(), &notices));
    Ok(())
}

fn progress_text(counters: &Counters) -> String {
    text!("import-progress", sessions = counters.sessions, messages = counters.messages)
}

/// Whether a file is a log. Its sessions must be exported first.
fn is_log(source: &Source) -> Result<bool> {
    let mut start = Vec::new();
    reader(source)?.take(16).read_to_end(&mut start)?;
    match source {
        Source::File(path) if start.starts_with(b"SQLite format 3\0") => {
            Ok(Log::open(&path.display().to_string()).is_ok())
        }
        _ => Ok(false),
    }
}

/// Whether a file is an export; its first line marks it.
fn is_export(source: &Source) -> Result<bool> {
    let mut start = Vec::new();
    reader(source)?.take(64).read_to_end(&mut start)?;
    Ok(start.starts_with(b"{\"waterline\":"))
}

fn reader(source: &Source) -> Result<Box<dyn BufRead + '_>> {
    Ok(match source {
        Source::File(path) => {
            let file = std::fs::File::open(path)
                .with_context(|| text!("cannot-open", path = path.display().to_string()))?;
            Box::new(BufReader::with_capacity(1 << 16, file))
        }
        Source::Bytes(_, bytes) => Box::new(bytes.as_slice()),
    })
}

fn import_lines(
    log: &Log,
    source: &Source,
    bar: &ProgressBar,
    counters: &mut Counters,
) -> Result<()> {
    let before = bar.position();
    let added =
        log.import(reader(source)?, parse_stored, |read| bar.set_position(before + read))?;
    let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    counters.messages += size(added.messages);
    counters.sessions += size(added.sessions);
    counters.continued += size(added.continued);
    counters.forked.extend(added.forked);
    Ok(())
}

fn progress(files: &[PathBuf]) -> ProgressBar {
    let size: u64 =
        files.iter().map(|file| std::fs::metadata(file).map_or(0, |metadata| metadata.len())).sum();
    let bar = ProgressBar::new(size);
    // The size of standard input is unknown.
    let template = if size > 0 {
        "{spinner} {bar:16} {bytes}/{total_bytes} · {msg}"
    } else {
        "{spinner} {msg}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(text!("reading"));
    bar.enable_steady_tick(std::time::Duration::from_millis(120));
    bar
}

fn report(arguments: &Arguments, counters: &Counters) -> Result<()> {
    if arguments.json {
        let mut out = raw_output();
        writeln!(out, "{}", serde_json::to_string(counters)?)?;
        out.flush()?;
        return Ok(());
    }
    let mut out = output();
    let total = text!(
        "import-total",
        files = counters.files,
        sessions = counters.sessions,
        messages = counters.messages
    );
    writeln!(out, "{total}")?;
    if counters.continued > 0 {
        writeln!(out, "{}", text!("import-continued", count = counters.continued))?;
    }
    for id in &counters.forked {
        writeln!(out, "{}", text!("import-forked", id = plain(id)))?;
    }
    out.flush()?;
    Ok(())
}
