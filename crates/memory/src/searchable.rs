//! The lines of a memory with their index, built again only when a file has changed.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::date::date_of;
use crate::index::{Index, Message};
use crate::notes::Source;

/// A line that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remembered {
    /// The file it is in: `MEMORY.md`, or the day.
    pub place: String,
    /// What the line says.
    pub text: String,
    /// The day it was written, as `YYYY-MM-DD`; empty if a person wrote it to `MEMORY.md`.
    pub day: String,
    /// The message it is from, if it is known.
    pub source: Option<Source>,
    /// Whether a newer fact replaced it.
    pub is_superseded: bool,
}

impl Remembered {
    /// Returns the hash of the line, under which its vectors are stored.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        *blake3::hash(self.text.as_bytes()).as_bytes()
    }
}

/// Lines and their index.
#[derive(Debug)]
pub(crate) struct Searchable {
    pub(crate) lines: Vec<Remembered>,
    pub(crate) index: Index,
}

impl Searchable {
    fn new(lines: Vec<Remembered>) -> Self {
        let mut index = Index::new();
        for line in &lines {
            let date = date_of(&line.day);
            index.add(&Message { session: &line.place, speaker: "user", date, text: &line.text });
        }
        Self { lines, index }
    }
}

/// A stamp of a file, which differs after the file has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    path: PathBuf,
    modified: Option<SystemTime>,
    length: u64,
    /// Programs often replace a file instead of writing it.
    inode: u64,
}

impl Stamp {
    /// Returns the stamp of a file; `None` if there is none.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::symlink_metadata(path).ok()?;
        Some(Self {
            path: path.to_owned(),
            modified: metadata.modified().ok(),
            length: metadata.len(),
            inode: metadata.ino(),
        })
    }
}

/// The lines that were searched last. Copies of a memory share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cache(Arc<Mutex<Option<Cached>>>);

#[derive(Debug)]
struct Cached {
    stamps: Vec<Stamp>,
    searchable: Arc<Searchable>,
}

impl Cache {
    /// Returns what was read last if no file has changed since, otherwise reads the lines again.
    pub(crate) fn get(
        &self,
        stamps: impl Fn() -> io::Result<Vec<Stamp>>,
        read: impl FnOnce() -> io::Result<Vec<Remembered>>,
    ) -> io::Result<Arc<Searchable>> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = stamps()?;
        if let Some(known) = cached.as_ref().filter(|known| known.stamps == before) {
            return Ok(Arc::clone(&known.searchable));
        }
        let searchable = Arc::new(Searchable::new(read()?));
        // A file that changed while it was read is read again the next time.
        *cached = (stamps()? == before)
            .then(|| Cached { stamps: before, searchable: Arc::clone(&searchable) });
        Ok(searchable)
    }
}
