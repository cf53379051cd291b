//! Why a directory or a file cannot be used.

use std::path::PathBuf;

/// Why a directory or a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The workspace cannot be opened.
    #[error("the workspace {path} cannot be used: {why}")]
    Workspace {
        /// Its path.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A directory cannot be granted.
    #[error("the directory {path} cannot be granted: {why}")]
    Grant {
        /// Its path.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A path leads out of the workspace and the granted directories.
    #[error("{path} is outside the directories that may be accessed: {}; only the user can grant more", allowed.join(", "))]
    Outside {
        /// The path as it was written.
        path: String,
        /// The directories that may be accessed.
        allowed: Vec<String>,
    },
    /// Nothing is there.
    #[error("{path} does not exist")]
    NotFound {
        /// The path as it was written.
        path: String,
    },
    /// A file was expected.
    #[error("{path} is a directory")]
    IsDirectory {
        /// The path as it was written.
        path: String,
    },
    /// A directory was expected.
    #[error("{path} is a file")]
    NotDirectory {
        /// The path as it was written.
        path: String,
    },
    /// A pipe, a device or a socket.
    #[error("{path} is not a regular file")]
    NotRegular {
        /// The path as it was written.
        path: String,
    },
    /// The file is too large to be read at once.
    #[error("{path} has {bytes} bytes, more than the {limit} that are read at once")]
    TooLarge {
        /// The path as it was written.
        path: String,
        /// Its size.
        bytes: u64,
        /// The largest size that is read.
        limit: u64,
    },
    /// The file holds no text.
    #[error("{path} is not a text file ({bytes} bytes)")]
    NotText {
        /// The path as it was written.
        path: String,
        /// Its size.
        bytes: usize,
    },
    /// The path cannot be used as it is written.
    #[error("{path:?} is not a usable path: {why}")]
    Path {
        /// The path as it was written.
        path: String,
        /// The reason.
        why: &'static str,
    },
    /// The directory was granted for reading only.
    #[error("{path} may only be read")]
    ReadOnly {
        /// The whole path.
        path: PathBuf,
    },
    /// The file says which session owns the workspace.
    #[error("{path} records which session owns this workspace and cannot be changed")]
    Protected {
        /// The path.
        path: &'static str,
    },
    /// The mode of a file or of a directory above it forbids it.
    #[error(
        "the permissions of {path}, or of a directory above it, do not allow this; chmod changes them"
    )]
    Permissions {
        /// The path as it was written.
        path: String,
    },
    /// The operating system refused.
    #[error("{path}: {error}")]
    Io {
        /// The path as it was written.
        path: String,
        /// What it said.
        #[source]
        error: std::io::Error,
    },
}
