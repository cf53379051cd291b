//! What the program wrote to `MEMORY.md`, in the order it was written.
//!
//! An editor that opened the file earlier drops newer lines when it saves. The journal
//! distinguishes such a line from one that a person deleted: only the newest lines can be dropped
//! this way, all of them together, and each is restored once. If it is missing again, a person
//! deleted it.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::compare::is_edited;
use super::document::{Document, Note, Topic};
use super::file;
use super::line::Line;

/// The name of the file.
const NAME: &str = ".memory.journal";

/// How many lines are remembered. An editor is rarely open while more are written.
const LINES: usize = 50;

/// The lines that the program wrote last.
pub(crate) struct Journal {
    path: PathBuf,
}

/// One line that the program wrote.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Written {
    /// The heading of its section.
    heading: String,
    line: String,
    /// Whether it was restored after it was missing.
    #[serde(default)]
    restored: bool,
}

impl Journal {
    pub(crate) fn of(directory: &Path) -> Self {
        Self { path: directory.join(NAME) }
    }

    /// Adds the lines that an editor dropped. Returns them.
    pub(crate) fn restore(&self, document: &mut Document) -> io::Result<Vec<String>> {
        let written = self.read()?;
        let notes = document.notes();
        let is_missing = |written: &Written| match Line::parse(&written.line) {
            // A person may have changed the line.
            Some(line) => !notes.iter().any(|note| is_edited(&note.line.text, &line.text)),
            None => true,
        };
        // Only the newest lines can be missing because an older version was saved.
        let dropped: Vec<&Written> =
            written.iter().rev().take_while(|line| is_missing(line)).collect();
        let mut restored = Vec::new();
        for lost in dropped.into_iter().rev().filter(|lost| !lost.restored) {
            let topic = Topic::ALL.into_iter().find(|topic| topic.heading() == lost.heading);
            if let (Some(topic), Some(line)) = (topic, Line::parse(&lost.line)) {
                document.add(&Note { topic, line });
                restored.push(lost.line.clone());
            }
        }
        Ok(restored)
    }

    /// Records the lines that the program added to a document that it just wrote, and which of them
    /// it restored. `earlier` is the document before.
    pub(crate) fn record(
        &self,
        earlier: &Document,
        document: &Document,
        restored: &[String],
    ) -> io::Result<()> {
        let known = self.read()?;
        let notes = document.notes();
        let old = earlier.notes();
        let mut written: Vec<Written> = Vec::new();
        // Lines in the order they were first written; those that are gone are forgotten.
        for line in &known {
            if notes.iter().any(|note| note.line.to_string() == line.line) {
                let restored = line.restored || restored.contains(&line.line);
                written.push(Written { restored, ..line.clone() });
            }
        }
        // Older lines that the journal no longer has must not become the newest ones.
        let is_new = |note: &&Note| !note.line.day.is_empty() && !old.contains(note);
        for note in notes.iter().filter(is_new) {
            let line = note.line.to_string();
            if written.iter().all(|known| known.line != line) {
                let heading = note.topic.heading().to_owned();
                written.push(Written { heading, line, restored: false });
            }
        }
        let from = written.len().saturating_sub(LINES);
        self.write(written.get(from..).unwrap_or_default())
    }

    fn read(&self) -> io::Result<Vec<Written>> {
        let text = file::read(&self.path)?;
        // A line that a crash cut short is ignored.
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    fn write(&self, lines: &[Written]) -> io::Result<()> {
        let mut text = String::new();
        for line in lines {
            text.push_str(&serde_json::to_string(line)?);
            text.push('\n');
        }
        let new = self.path.with_extension("new");
        let mut file = file::open(&new, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)?;
        file.write_all(text.as_bytes())?;
        std::fs::rename(&new, &self.path)
    }
}
