//! Sessions on the command line: standard input, files, folders of them, and the log.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use waterline_log::{Log, Session};
use waterline_transcript::{Notice, Source, Transcript, archive};

use crate::db::{self, Stored};
use crate::show::plain;

/// Endings of files in a folder that may hold sessions.
const ENDINGS: [&str; 6] = ["jsonl", "json", "af", "db", "sqlite", "sqlite3"];

/// More notices than this about one file are only counted.
const NOTICES: usize = 10;

/// More files than this that are no sessions are only counted.
const REFUSED: usize = 3;

/// Where recorded conversations come from.
#[derive(Debug)]
pub enum Origin {
    /// A file, or standard input.
    File(PathBuf),
    /// A session of the log.
    Stored(Log, Box<Session>),
}

impl Origin {
    /// What it is called.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stored(_, session) => session.id.clone(),
        }
    }

    /// The file, where it is one.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::File(path) => Some(path),
            Self::Stored(..) => None,
        }
    }

    /// Hands over its transcripts; gives what was passed over.
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

/// The files and folders that were named; with `--db`, the stored sessions, all where none is
/// named.
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
        bail!("name session files or folders of them, or stored sessions with --db");
    }
    Ok(files(named)?.into_iter().map(Origin::File).collect())
}

/// A file, or standard input for `-`.
pub fn source(name: &str) -> Result<Source> {
    of_file(Path::new(name))
}

/// A file as it is; standard input, a pipe or a device can be read only once, and is.
pub fn of_file(path: &Path) -> Result<Source> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
        return Ok(Source::Bytes("standard input".to_owned(), bytes));
    }
    let cannot = || format!("cannot open {}", path.display());
    if std::fs::metadata(path).with_context(cannot)?.is_file() {
        return Ok(Source::File(path.to_owned()));
    }
    let bytes = std::fs::read(path).with_context(cannot)?;
    Ok(Source::Bytes(path.display().to_string(), bytes))
}

/// The files themselves, and for a folder every file below it that may hold sessions.
pub fn files(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in given {
        if path == Path::new("-") {
            found.push(path.clone());
            continue;
        }
        let metadata =
            std::fs::metadata(path).with_context(|| format!("cannot open {}", path.display()))?;
        if metadata.is_dir() {
            let before = found.len();
            walk(path, &mut found)?;
            if found.len() == before {
                bail!(
                    "{}: there is no session file below this folder ({})",
                    path.display(),
                    ENDINGS.join(", ")
                );
            }
        } else {
            found.push(path.clone());
        }
    }
    // What is named twice is read once.
    let mut known = std::collections::HashSet::new();
    found.retain(|path| known.insert(std::fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
    Ok(found)
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let cannot = || format!("cannot read the folder {}", folder.display());
    let mut entries = std::fs::read_dir(folder)
        .with_context(cannot)?
        .collect::<Result<Vec<_>, _>>()
        .with_context(cannot)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // A link may lead in a circle.
        let kind = entry.file_type().with_context(cannot)?;
        if kind.is_dir() {
            walk(&path, found)?;
        } else if std::fs::metadata(&path).is_ok_and(|metadata| metadata.is_file())
            && path
                .extension()
                .and_then(|ending| ending.to_str())
                .is_some_and(|ending| ENDINGS.contains(&ending))
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Says on standard error which files were no sessions: a few by name, many by number.
pub fn show_refused(refused: &[String]) {
    for error in refused.iter().take(REFUSED) {
        anstream::eprintln!("waterline: {}; skipped", plain(error));
    }
    if let Some(more) = refused.len().checked_sub(REFUSED).filter(|&more| more > 0) {
        anstream::eprintln!("waterline: {more} more files are no sessions; skipped");
    }
}

/// Says on standard error what was passed over.
pub fn show_notices(name: &str, notices: &[Notice]) {
    for notice in notices.iter().take(NOTICES) {
        anstream::eprintln!("waterline: {}: {}; skipped", plain(name), plain(&notice.to_string()));
    }
    if let Some(more) = notices.len().checked_sub(NOTICES).filter(|&more| more > 0) {
        anstream::eprintln!("waterline: {}: {more} more lines were skipped", plain(name));
    }
}
