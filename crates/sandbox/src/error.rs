//! [`SandboxError`]: errors about workspaces, grants, directories and files.

use std::path::PathBuf;

use crate::reason::PathReason;

/// An error about a workspace, a grant, a directory or a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The workspace cannot be opened.
    #[error("cannot open the workspace {path}: {why}")]
    Workspace {
        /// The workspace's path.
        path: PathBuf,
        /// What is wrong with the path.
        why: PathReason,
    },
    /// A directory cannot be granted.
    #[error("cannot grant access to {path}: {why}")]
    Grant {
        /// The directory's path.
        path: PathBuf,
        /// What is wrong with the path.
        why: PathReason,
    },
    /// A path leads out of the workspace and the granted directories.
    #[error(
        "{path} is outside the directories that may be accessed: {}; only the user can grant more",
        allowed.join(", ")
    )]
    Outside {
        /// The path as it was written.
        path: String,
        /// The absolute path, without `..`.
        whole: PathBuf,
        /// The directories that may be accessed.
        allowed: Vec<String>,
    },
    /// The file or directory does not exist.
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
    /// The path is a pipe, a device or a socket.
    #[error("{path} is not a regular file")]
    NotRegular {
        /// The path as it was written.
        path: String,
    },
    /// The file is too large to read.
    #[error("{path} is too large to read: {bytes} bytes, and the limit is {limit}")]
    TooLarge {
        /// The path as it was written.
        path: String,
        /// The size of the file.
        bytes: u64,
        /// The largest size that can be read.
        limit: u64,
    },
    /// The file is binary.
    #[error("{path} is not a text file ({bytes} bytes)")]
    NotText {
        /// The path as it was written.
        path: String,
        /// The size of the file.
        bytes: usize,
    },
    /// The path is invalid.
    #[error("invalid path {path:?}: {why}")]
    Path {
        /// The path as it was written.
        path: String,
        /// What is wrong with the path.
        why: PathReason,
    },
    /// The directory was granted for reading only.
    #[error("{path} is read-only: the user granted read access only")]
    ReadOnly {
        /// The path that was to be changed, absolute.
        path: PathBuf,
    },
    /// The file records which session owns the workspace.
    #[error("{path} records which session owns this workspace and cannot be changed")]
    Protected {
        /// The path inside the workspace.
        path: &'static str,
    },
    /// The path leads through a link to a protected path, which must be named itself.
    #[error("{path} leads to {target}, which is protected; use that path instead of the link")]
    ProtectedLink {
        /// The path as it was written.
        path: String,
        /// The path that the link leads to.
        target: PathBuf,
    },
    /// The mode of a file, or of a directory above it, forbids the operation.
    #[error("permission denied: {path} or a directory above it")]
    Permissions {
        /// The path as it was written.
        path: String,
    },
    /// Any other I/O error.
    #[error("{path}: {error}")]
    Io {
        /// The path as it was written.
        path: String,
        /// The I/O error.
        #[source]
        error: std::io::Error,
    },
}
