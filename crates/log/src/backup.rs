//! A copy of everything, made while the log is used.

use std::io::Write;
use std::path::Path;

use crate::error::{LogError, Result};
use crate::log::Log;

/// What a backup is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backup {
    /// A database file that can be opened as it is.
    Database,
    /// Lines of JSON that [`Log::import`] takes in.
    Lines,
}

impl Log {
    /// Copies everything into a file, as it is at one moment, while others read and write. Of a
    /// file that is a database file; of a server lines of JSON. The file is complete or not there.
    ///
    /// # Errors
    /// When the file cannot be written, or something is damaged.
    pub fn backup(&self, to: &Path) -> Result<Backup> {
        if self.store().backup(to)? {
            return Ok(Backup::Database);
        }
        let cannot =
            |source: std::io::Error| LogError::File { path: to.to_owned(), source: source.into() };
        let mut beside = to.as_os_str().to_owned();
        beside.push(format!(".{}.part", uuid::Uuid::new_v4().simple()));
        let file = crate::store::private(Path::new(&beside)).map_err(cannot)?;
        let mut out = std::io::BufWriter::new(file);
        let written = self.export(&[], &mut out).and_then(|done| match done.damaged.first() {
            Some(text) => {
                Err(LogError::Damaged { name: self.url().to_owned(), text: text.clone() })
            }
            None => out.flush().map_err(cannot),
        });
        let placed = written.and_then(|()| std::fs::rename(&beside, to).map_err(cannot));
        if placed.is_err() {
            // What is half written is of no use to anybody.
            drop(std::fs::remove_file(&beside));
        }
        placed.map(|()| Backup::Lines)
    }
}
