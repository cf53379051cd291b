//! The setting `memory`: a directory, `false`, or a table.

use std::path::PathBuf;

use serde::Deserialize;

/// The memory across sessions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected true, false, a directory, or a table with `directory` and `extract`"
)]
pub enum Memory {
    /// The memory is in this directory.
    Directory(PathBuf),
    /// On in the usual directory, or off.
    On(bool),
    /// On, with more settings.
    Table(MemoryTable),
}

/// The settings of the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryTable {
    /// The directory of `MEMORY.md` and of the daily files.
    pub directory: Option<PathBuf>,
    /// Whether lasting facts of summaries are written to `MEMORY.md`.
    pub extract: bool,
}

impl Memory {
    /// Returns whether there is a memory.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        !matches!(self, Self::On(false))
    }

    /// Returns the directory, if it is not the usual one.
    #[must_use]
    pub const fn directory(&self) -> Option<&PathBuf> {
        match self {
            Self::Directory(path) => Some(path),
            Self::Table(table) => table.directory.as_ref(),
            Self::On(_) => None,
        }
    }

    /// Returns whether lasting facts of summaries are written to `MEMORY.md`.
    #[must_use]
    pub const fn extracts(&self) -> bool {
        matches!(self, Self::Table(MemoryTable { extract: true, .. }))
    }

    pub(super) const fn directory_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Self::Directory(path) => Some(path),
            Self::Table(table) => table.directory.as_mut(),
            Self::On(_) => None,
        }
    }
}
