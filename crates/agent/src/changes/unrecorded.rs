//! Changes that cannot be undone. The user gets one notice.

use std::fmt;
use std::path::PathBuf;

use super::FileChange;

/// What is not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unrecorded {
    /// Changes by commands in a directory with too many files.
    Directory(PathBuf),
    /// Files whose contents are too large.
    Files {
        /// One of them.
        first: String,
        /// How many others there are.
        more: usize,
    },
    /// Files that commands changed or deleted, and that are never recorded: git ignores them, or
    /// programs generate them.
    Ignored {
        /// The directories that they are, or were, in.
        directories: Vec<String>,
        /// How many files.
        count: usize,
        /// Whether there may be more.
        or_more: bool,
    },
    /// Every further change: the session has too many bytes of file contents.
    Session {
        /// Maximum number of bytes that are stored.
        bytes: u64,
    },
}

impl Unrecorded {
    /// Returns the files among these whose contents are not stored.
    pub(super) fn files(changes: &[FileChange]) -> Option<Self> {
        let mut unstored = changes.iter().filter(|change| {
            [&change.before, &change.after].into_iter().flatten().any(|content| content.unstored)
        });
        let first = unstored.next()?.path.clone();
        Some(Self::Files { first, more: unstored.count() })
    }
}

impl fmt::Display for Unrecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(
                f,
                "{} has more than 20,000 files: what commands change there cannot be undone",
                path.display()
            ),
            Self::Files { first, more: 0 } => {
                write!(
                    f,
                    "{first}: this change cannot be undone, because it is too large to record"
                )
            }
            Self::Files { first, more } => write!(
                f,
                "{first} and {more} more: these changes cannot be undone, because they are too \
                 large to record"
            ),
            Self::Ignored { directories, count, or_more } => write!(
                f,
                "{}{count} {} changed or deleted in {}: ignored and generated files are not \
                 recorded, so this cannot be undone",
                if *or_more { "at least " } else { "" },
                if *count == 1 { "file was" } else { "files were" },
                directories.join(", ")
            ),
            Self::Session { bytes } => write!(
                f,
                "this session has reached its limit of {} MB of file versions: larger changes \
                 cannot be undone; a new session can record more",
                bytes / 1_000_000
            ),
        }
    }
}
