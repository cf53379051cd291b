//! Why a mentioned file is not attached, or not as a whole. [`Display`](fmt::Display) writes
//! English; a program in another language matches on the variant.

use std::fmt;
use std::path::PathBuf;

use crate::cause::Cause;

/// A mention whose files are not attached as the user expects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachProblem {
    /// No file matches this name.
    NotFound(String),
    /// Too many files match a name; the first ones are attached.
    TooMany {
        /// The path or pattern, as the user wrote it.
        name: String,
        /// How many are attached.
        most: usize,
    },
    /// One file.
    File {
        /// The file that was found.
        path: PathBuf,
        /// Why it was not attached, or only in part.
        why: FileProblem,
    },
}

/// A problem with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileProblem {
    /// It is a link to this file outside the directory.
    Link(PathBuf),
    /// It is a pipe, a device or the like.
    NotRegular,
    /// The file has more bytes than are attached.
    TooLarge {
        /// The size of the file.
        bytes: u64,
        /// The size up to which files are attached.
        most: u64,
    },
    /// It is an image, and the model does not accept images; only its name is sent.
    NoImages,
    /// It cannot be read or copied, for this reason.
    Other(Cause),
}

impl<E: Into<Cause>> From<E> for FileProblem {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl fmt::Display for AttachProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(name) => write!(f, "#{name}: file not found"),
            Self::TooMany { name, most } => {
                write!(f, "#{name}: more than {most} files; the first {most} are attached")
            }
            Self::File { path, why } => write!(f, "{}: {why}", path.display()),
        }
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(target) => write!(
                f,
                "not attached: it is a link to {}; to attach that file, name it directly",
                target.display()
            ),
            Self::NotRegular => f.write_str("not attached: it is not a regular file"),
            Self::TooLarge { bytes, most } => {
                write!(f, "file too large: {bytes} bytes, the limit is {most}")
            }
            Self::NoImages => {
                f.write_str("the model does not accept images; only the name is sent")
            }
            Self::Other(why) => why.fmt(f),
        }
    }
}
