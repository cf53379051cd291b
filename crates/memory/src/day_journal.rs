//! The entries that the program wrote to the file of a day, so that an editor that saves an older
//! version of the file does not lose them.
//!
//! As with `MEMORY.md`, only the newest entries can be lost this way, all of them together, and
//! each is restored once. If it is missing again, a person deleted it. An entry is recorded before
//! it is written, so that the next process writes it if this one is killed.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::ToSpan as _;
use jiff::civil::Date;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::notes::{open, read_small};

/// How many entries are remembered. An editor is rarely open while more are written.
const ENTRIES: usize = 50;

/// The days whose journals are kept, today among them.
const DAYS: i32 = 2;

/// The journal of one day. The caller that writes it holds the lock of the directory.
pub(crate) struct DayJournal {
    directory: PathBuf,
    day: Date,
}

/// The entries of a journal, oldest first.
pub(crate) struct Entries(Vec<Written>);

#[derive(Serialize, Deserialize)]
struct Written {
    entry: String,
    /// Whether it was restored after it was missing.
    #[serde(default)]
    restored: bool,
}

impl DayJournal {
    pub(crate) fn new(directory: &Path, day: Date) -> Self {
        Self { directory: directory.to_owned(), day }
    }

    pub(crate) fn read(&self) -> io::Result<Entries> {
        let text = read_small(&self.path(self.day))?;
        // A line that a crash cut short is ignored.
        Ok(Entries(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()))
    }

    /// Records an entry that is about to be written.
    pub(crate) fn record(&self, entry: Option<&str>) -> io::Result<()> {
        let Some(entry) = entry else { return Ok(()) };
        let Entries(mut written) = self.read()?;
        if written.is_empty() {
            self.remove_old();
        }
        written.push(Written { entry: entry.to_owned(), restored: false });
        let from = written.len().saturating_sub(ENTRIES);
        self.write(written.get(from..).unwrap_or_default())
    }

    /// Records that entries were restored.
    pub(crate) fn set_restored(&self, entries: &[String]) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let Entries(mut written) = self.read()?;
        for known in written.iter_mut().filter(|known| entries.contains(&known.entry)) {
            known.restored = true;
        }
        self.write(&written)
    }

    fn path(&self, day: Date) -> PathBuf {
        self.directory.join(format!(".{day}.journal"))
    }

    /// Removes the journals of earlier days. One that cannot be removed is harmless.
    fn remove_old(&self) {
        for days in DAYS..DAYS + 30 {
            if let Ok(day) = self.day.checked_sub(days.days()) {
                std::fs::remove_file(self.path(day)).ok();
            }
        }
    }

    fn write(&self, written: &[Written]) -> io::Result<()> {
        let mut text = String::new();
        for line in written {
            text.push_str(&serde_json::to_string(line)?);
            text.push('\n');
        }
        let path = self.path(self.day);
        let new = path.with_extension("new");
        let mut file = open(&new, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)?;
        file.write_all(text.as_bytes())?;
        std::fs::rename(&new, &path)
    }
}

impl Entries {
    /// Returns the newest entries that are missing in a file with this text, oldest first.
    pub(crate) fn lost(&self, text: &str) -> Vec<String> {
        let lines: HashSet<&str> = text.lines().map(str::trim).collect();
        let is_missing = |written: &&Written| {
            let has = |line: &&str| lines.contains(line);
            // The comment names the message, so no other entry has it. A person may have changed
            // some of the lines, and other entries may have some.
            let has_source =
                written.entry.lines().filter(|line| is_comment(line)).any(|it| has(&it));
            let count = own_lines(&written.entry).count();
            !has_source && own_lines(&written.entry).filter(has).count() * 2 < count
        };
        let newest = self.0.iter().rev().take_while(is_missing);
        let mut lost: Vec<String> =
            newest.filter(|lost| !lost.restored).map(|lost| lost.entry.clone()).collect();
        lost.reverse();
        lost
    }
}

/// Returns the lines that belong to one entry: headings and sources occur in others too.
fn own_lines(text: &str) -> impl Iterator<Item = &str> {
    let is_own = |line: &&str| !line.is_empty() && !line.starts_with('#') && !is_comment(line);
    text.lines().map(str::trim).filter(is_own)
}

fn is_comment(line: &str) -> bool {
    line.starts_with("<!--")
}
