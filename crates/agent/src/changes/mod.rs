//! The files that a turn changes: their contents before and after it, and how the changes are
//! undone when the session goes back.
//!
//! Every change is recorded in the log with the message it follows. What a tool writes is recorded
//! before it happens, in one transaction with the start of the call. After a command, the files are
//! compared with a snapshot, and the record is stored with its result. The records belong to this
//! machine: exports do not have them.

mod command;
mod diff;
mod outline;
mod plan;
mod recorder;
mod restore;
mod snapshot;
mod unrecorded;
mod walk;

use std::path::Path;

use serde::{Deserialize, Serialize};
use waterline_log::content_hash;
use waterline_sandbox::workspace::{FileAt, Workspace};

pub use diff::{DiffKind, FileDiff};
pub use plan::{FileMove, Moves};
pub(crate) use recorder::{CallKey, Recorder, WriteError};
pub use restore::{FileOutcome, MovedFile};
pub(crate) use restore::{apply_moves, plan_moves};
pub use unrecorded::Unrecorded;

/// The largest file whose content is recorded.
pub const MAX_FILE_BYTES: u64 = 8_000_000;

/// A file that a call is about to write.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileWrite {
    /// The path, as the call wrote it.
    pub path: String,
    /// The content of the whole file.
    pub bytes: Vec<u8>,
}

impl FileWrite {
    /// Creates the write of a file with this content.
    #[must_use]
    pub fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: bytes.into() }
    }
}

/// The directory of the workspace that holds the versions of protected paths that commands made. It
/// is not part of the project, so its files are not recorded.
pub(crate) const BLOCKED_DIRECTORY: &str = "blocked";

/// The content of a recorded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    /// The hash of the content in the log. For a file that is too large, it is derived from the
    /// size and the modification time.
    hash: String,
    /// The mode, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<u32>,
    /// Whether the content is not stored, because it is too large.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unstored: bool,
}

impl Content {
    fn of_bytes(bytes: &[u8], mode: Option<u32>) -> Self {
        Self { hash: content_hash(bytes), mode, unstored: false }
    }

    fn of_large(size: u64, modified: i128) -> Self {
        Self { hash: format!("{size} bytes at {modified}"), mode: None, unstored: true }
    }
}

/// What a path holds: a regular file, or nothing.
pub(crate) type FileState = Option<Content>;

/// Returns whether two states have the same content. A changed mode alone is not a conflict.
fn has_same_content(left: &FileState, right: &FileState) -> bool {
    left.as_ref().map(|content| &content.hash) == right.as_ref().map(|content| &content.hash)
}

/// Returns whether a file already has the target state.
fn is_at(current: &FileState, target: &FileState) -> bool {
    let mode = |state: &FileState| state.as_ref().and_then(|content| content.mode);
    let modes = mode(current).zip(mode(target));
    has_same_content(current, target) && modes.is_none_or(|(current, target)| current == target)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileChange {
    /// The path: absolute, or relative to the workspace of the session. A fork has a copy of the
    /// workspace at another place.
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: FileState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: FileState,
}

impl FileChange {
    /// Marks the contents as not stored.
    fn drop_contents(&mut self) {
        let contents = [&mut self.before, &mut self.after].into_iter().flatten();
        contents.for_each(|content| content.unstored = true);
    }
}

/// Returns the path under which a change is recorded.
fn recorded_path(workspace: &Workspace, path: &Path) -> String {
    path.strip_prefix(workspace.path()).unwrap_or(path).display().to_string()
}

/// Returns the absolute path of a recorded path.
fn whole_path(workspace: &Workspace, path: &str) -> String {
    workspace.path().join(path).display().to_string()
}

/// Returns the recorded form of what is at a path; `None` if it is not a regular file and something
/// is there.
fn state_of(found: &FileAt) -> Option<FileState> {
    match found {
        FileAt::Missing => Some(None),
        FileAt::File { bytes, mode } => Some(Some(Content::of_bytes(bytes, Some(*mode)))),
        FileAt::Large { size, modified } => Some(Some(Content::of_large(*size, *modified))),
        FileAt::Other => None,
    }
}
