//! `waterline sessions import`.

use std::io::{BufRead, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use waterline_log::Log;
use waterline_provider::wire::parse_stored;
use waterline_transcript::{Source, archive};

use crate::db::Database;
use crate::input::{output, raw_output};
use crate::sessions;
use crate::show::{count, plain};

/// Take in session files of any known format, and what `export` wrote; what is there already is not
/// stored again
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Session files, exports, or folders of them; `-` for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Whose the new sessions are
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// One JSON object: what was added
    #[arg(long)]
    json: bool,
}

/// What was added.
#[derive(Default)]
struct Tally {
    files: usize,
    sessions: usize,
    continued: usize,
    messages: usize,
    /// Sessions that went another way here.
    forked: Vec<String>,
    /// Files that are no sessions.
    refused: Vec<String>,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let files = sessions::files(&arguments.files)?;
    let log = database.open()?;
    let bar = progress(&files);
    let mut tally = Tally::default();
    let mut named_refused = false;
    for file in &files {
        let size = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
        let before = bar.position();
        match import(&log, file, arguments.user.as_deref(), &bar, &mut tally) {
            Ok(()) => tally.files += 1,
            // In a folder there may be files of other kinds; a file that was named should have been
            // one.
            Err(error) if files.len() > 1 && is_refusal(&error) => {
                tally.refused.push(format!("{error:#}"));
                named_refused |= arguments.files.contains(file);
            }
            Err(error) => return Err(error),
        }
        bar.set_position(before + size);
    }
    bar.finish_and_clear();
    sessions::show_refused(&tally.refused);
    if tally.files == 0 {
        return Err(anyhow!("no file could be read as sessions"));
    }
    report(arguments, &tally)?;
    Ok(if named_refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Whether a file is no session; a log that cannot be written is another matter.
fn is_refusal(error: &anyhow::Error) -> bool {
    error.downcast_ref::<waterline_transcript::TranscriptError>().is_some()
}

fn import(
    log: &Log,
    file: &Path,
    user: Option<&str>,
    bar: &ProgressBar,
    tally: &mut Tally,
) -> Result<()> {
    let source = sessions::of_file(file)?;
    if is_log(&source)? {
        let name = file.display();
        bail!(
            "{name} is a log itself; `waterline sessions export --db {name}` writes what it holds, for `import -`"
        );
    }
    if is_export(&source)? {
        return import_lines(log, &source, bar, tally).with_context(|| file.display().to_string());
    }
    let mut failed = None;
    let report = waterline_transcript::read(&source, |transcript| {
        match archive::import(log, &transcript, user) {
            Ok(added) => {
                tally.messages += added.messages;
                tally.sessions += usize::from(added.is_new);
                tally.continued += usize::from(added.continued);
                tally.forked.extend(added.forked);
                bar.set_message(counted(tally));
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

fn counted(tally: &Tally) -> String {
    format!("{}, {}", count(tally.sessions, "session"), count(tally.messages, "message"))
}

/// Whether a file is a log of this program, which is not imported but exported first.
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

/// The first line of an export says what it is.
fn is_export(source: &Source) -> Result<bool> {
    let mut start = Vec::new();
    reader(source)?.take(64).read_to_end(&mut start)?;
    Ok(start.starts_with(b"{\"waterline\":"))
}

fn reader(source: &Source) -> Result<Box<dyn BufRead + '_>> {
    Ok(match source {
        Source::File(path) => {
            let file = std::fs::File::open(path)
                .with_context(|| format!("cannot open {}", path.display()))?;
            Box::new(BufReader::with_capacity(1 << 16, file))
        }
        Source::Bytes(_, bytes) => Box::new(bytes.as_slice()),
    })
}

fn import_lines(log: &Log, source: &Source, bar: &ProgressBar, tally: &mut Tally) -> Result<()> {
    let before = bar.position();
    let added =
        log.import(reader(source)?, parse_stored, |read| bar.set_position(before + read))?;
    let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    tally.messages += size(added.messages);
    tally.sessions += size(added.sessions);
    tally.continued += size(added.continued);
    tally.forked.extend(added.forked);
    Ok(())
}

fn progress(files: &[PathBuf]) -> ProgressBar {
    let size: u64 =
        files.iter().map(|file| std::fs::metadata(file).map_or(0, |metadata| metadata.len())).sum();
    let bar = ProgressBar::new(size);
    // Of standard input nobody knows how much there is.
    let template = if size > 0 {
        "{spinner} {bar:16} {bytes} of {total_bytes} · {msg}"
    } else {
        "{spinner} {msg}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message("reading");
    bar.enable_steady_tick(std::time::Duration::from_millis(120));
    bar
}

fn report(arguments: &Arguments, tally: &Tally) -> Result<()> {
    if arguments.json {
        let mut out = raw_output();
        let Tally { files, sessions, continued, messages, forked, refused } = tally;
        let json = json!({
            "files": files, "sessions": sessions, "continued": continued, "messages": messages, "forked": forked,
            "refused": refused,
        });
        writeln!(out, "{json}")?;
        out.flush()?;
        return Ok(());
    }
    let mut out = output();
    write!(
        out,
        "{}, {}",
        count(tally.sessions, "new session"),
        count(tally.messages, "new message")
    )?;
    if tally.continued > 0 {
        write!(out, ", {} went on", count(tally.continued, "session"))?;
    }
    writeln!(out, " from {}", count(tally.files, "file"))?;
    for id in &tally.forked {
        writeln!(
            out,
            "session {} has gone another way here; what was imported is a fork of it",
            plain(id)
        )?;
    }
    out.flush()?;
    Ok(())
}
