//! Sessions that a command reads: standard input, files, directories, and the log.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use waterline_log::{Log, MAX_INPUT_BYTES, Session, read_all};
use waterline_transcript::{Notice, Source, Transcript, archive};

use crate::db::{self, Stored};
use crate::lang::list;
use crate::show::{phrase, plain};
use crate::text;

/// Extensions of files in a directory that may contain sessions.
const EXTENSIONS: [&str; 6] = ["jsonl", "json", "af", "db", "sqlite", "sqlite3"];

/// Notices shown about one file; the others are only counted.
const NOTICES: usize = 10;

/// Files shown that are not sessions; the others are only counted.
const REFUSED: usize = 3;

/// The source of recorded conversations.
#[derive(Debug)]
pub enum Origin {
    /// A file, or standard input.
    File(PathBuf),
    /// A stored session.
    Stored(Log, Box<Session>),
}

impl Origin {
    /// Returns the path or the session id.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stored(_, session) => session.id.clone(),
        }
    }

    /// Returns the path of a file.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::File(path) => Some(path),
            Self::Stored(..) => None,
        }
    }

    /// Passes each transcript to `visit`; returns notices about skipped parts.
    pub fn read(
        &self,
        mut visit: impl FnMut(Transcript) -> ControlFlow<()>,
    ) -> Result<Vec<Notice>> {
        match self {
            Self::File(path) => Ok(waterline_transcript::read(&of_file(path)?, visit)?.notices),
            Self::Stored(log, session) => {
                let _ = visit(archive::export(log, session)?);
                Ok(Vec::new())
            }
        }
    }
}

/// Returns the named files and directories; with `--db`, the named stored sessions, or all of them.
pub fn origins(named: &[PathBuf], stored: &Stored) -> Result<Vec<Origin>> {
    if let Some(log) = stored.open()? {
        let ids: Vec<String> = named.iter().map(|id| id.display().to_string()).collect();
        let sessions = db::chosen(&log, &ids)?;
        return Ok(sessions
            .into_iter()
            .map(|session| Origin::Stored(log.clone(), Box::new(session)))
            .collect());
    }
    if named.is_empty() {
        bail!(text!("sessions-none-named"));
    }
    Ok(files(named)?.into_iter().map(Origin::File).collect())
}

/// Returns a file, or standard input for `-`.
pub fn source(name: &str) -> Result<Source> {
    of_file(Path::new(name))
}

/// Returns a source for a file. Standard input, a pipe or a device can be read only once, so its
/// bytes are kept.
pub fn of_file(path: &Path) -> Result<Source> {
    if path == Path::new("-") {
        let name = text!("standard-input");
        let bytes = read_all(&mut std::io::stdin().lock(), MAX_INPUT_BYTES)
            .with_context(|| text!("cannot-read", path = name.as_str()))?;
        return Ok(Source::Bytes(name, bytes));
    }
    let cannot = || cannot_open(path);
    if std::fs::metadata(path).with_context(cannot)?.is_file() {
        return Ok(Source::File(path.to_owned()));
    }
    let mut file = std::fs::File::open(path).with_context(cannot)?;
    let bytes = read_all(&mut file, MAX_INPUT_BYTES).with_context(cannot)?;
    Ok(Source::Bytes(path.display().to_string(), bytes))
}

fn cannot_open(path: &Path) -> String {
    text!("cannot-open", path = path.display().to_string())
}

/// Returns the files, and for a directory every file below it that may contain sessions.
pub fn files(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in given {
        if path == Path::new("-") {
            found.push(path.clone());
            continue;
        }
        let metadata = std::fs::metadata(path).with_context(|| cannot_open(path))?;
        if metadata.is_dir() {
            let before = found.len();
            walk(path, &mut found)?;
            if found.len() == before {
                let path = path.display().to_string();
                let extensions = list(&EXTENSIONS);
                bail!(text!("sessions-none-below", path = path, extensions = extensions));
            }
        } else {
            found.push(path.clone());
        }
    }
    // A file that is named twice is read once.
    let mut known = std::collections::HashSet::new();
    found.retain(|path| known.insert(std::fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
    Ok(found)
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let cannot = || text!("cannot-read", path = directory.display().to_string());
    let mut entries = std::fs::read_dir(directory)
        .with_context(cannot)?
        .collect::<Result<Vec<_>, _>>()
        .with_context(cannot)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // Links to directories are not followed: they may form a cycle.
        let kind = entry.file_type().with_context(cannot)?;
        if kind.is_dir() {
            walk(&path, found)?;
        } else if std::fs::metadata(&path).is_ok_and(|metadata| metadata.is_file())
            && path
                .extension()
                .and_then(|extension| extension.to_str())
                .is_some_and(|extension| EXTENSIONS.contains(&extension))
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Reports on standard error which files are not sessions: the first by name, the others counted.
pub fn show_refused(refused: &[String]) {
    for error in refused.iter().take(REFUSED) {
        print(&text!("skipped", what = error.as_str()));
    }
    let more = refused.len().saturating_sub(REFUSED);
    if more > 0 {
        print(&text!("skipped-files", count = more));
    }
}

/// Reports on standard error which parts of a file were skipped.
pub fn show_notices(name: &str, notices: &[Notice]) {
    for notice in notices.iter().take(NOTICES) {
        print(&text!("skipped-in-file", file = name, what = phrase(&notice.phrase())));
    }
    let more = notices.len().saturating_sub(NOTICES);
    if more > 0 {
        print(&text!("skipped-lines", file = name, count = more));
    }
}

fn print(text: &str) {
    anstream::eprintln!("waterline: {}", plain(text));
}
