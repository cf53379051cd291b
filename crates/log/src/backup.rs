//! Backups of a whole log, made while it is in use.

use std::io::Write;
use std::path::Path;

use crate::error::{LogError, Result};
use crate::log::Log;

/// The format of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backup {
    /// A database file, which [`Log::open`] opens.
    Database,
    /// JSON Lines, which [`Log::import`] reads.
    Lines,
}

impl Log {
    /// Writes a consistent copy of the whole log to a file, replacing an existing file. Others may
    /// read and write meanwhile.
    ///
    /// A SQLite log is copied as a database file, a PostgreSQL log as JSON Lines. A failed backup
    /// leaves no partial file.
    ///
    /// # Errors
    /// If the file cannot be written, or some data is damaged.
    pub fn backup(&self, to: &Path) -> Result<Backup> {
        if self.store().backup(to)? {
            return Ok(Backup::Database);
        }
        let cannot =
            |source: std::io::Error| LogError::File { path: to.to_owned(), source: source.into() };
        let mut partial = to.as_os_str().to_owned();
        partial.push(format!(".{}.part", uuid::Uuid::new_v4().simple()));
        let file = crate::store::create_private(Path::new(&partial)).map_err(cannot)?;
        let mut out = std::io::BufWriter::new(file);
        let written = self.export(&[], &mut out).and_then(|done| match done.damaged.first() {
            Some(text) => {
                Err(LogError::Damaged { name: self.url().to_owned(), text: text.clone() })
            }
            None => out.flush().map_err(cannot),
        });
        let renamed = written.and_then(|()| std::fs::rename(&partial, to).map_err(cannot));
        if renamed.is_err() {
            drop(std::fs::remove_file(&partial));
        }
        renamed.map(|()| Backup::Lines)
    }
}
