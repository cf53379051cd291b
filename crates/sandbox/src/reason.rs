//! Why a path or the sandbox cannot be used, as data. [`Display`](fmt::Display) writes English; a
//! program in another language matches on the variant.

use std::fmt;
use std::path::PathBuf;

/// Why a workspace, a directory or a path cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum PathReason {
    /// The operating system reports an error.
    Io(std::io::Error),
    /// The file that records the owner of the workspace cannot be read.
    InvalidOwner(&'static str),
    /// That file is a directory, a link or a device.
    OwnerNotRegular(&'static str),
    /// The workspace belongs to this session.
    OtherSession(String),
    /// The directory is read-only and inside this writable one. Landlock cannot do that.
    InsideWritable(PathBuf),
    /// The path is a file.
    NotDirectory,
    /// The directory is not in a granted directory.
    NotGranted,
    /// The path contains a NUL byte.
    NulByte,
    /// The path does not end with a file name.
    NoFileName,
    /// The path leads through a symbolic link.
    ThroughLink,
    /// Access is denied, or a link leads out of the directory. The kernel reports both alike.
    DeniedOrLink,
    /// The file is a pipe, a device or a directory.
    NotRegular,
    /// The file is larger than this number of bytes.
    TooLarge(u64),
    /// The file is not valid UTF-8.
    NotUtf8,
}

impl fmt::Display for PathReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::InvalidOwner(file) => write!(f, "its {file} cannot be read"),
            Self::OwnerNotRegular(file) => write!(f, "its {file} is not a regular file"),
            Self::OtherSession(session) => write!(f, "it belongs to session {session}"),
            Self::InsideWritable(outer) => {
                let outer = outer.display();
                write!(f, "a read-only directory cannot be inside {outer}, which is writable")
            }
            Self::NotDirectory => f.write_str("it is not a directory"),
            Self::NotGranted => f.write_str("it is not in a granted directory"),
            Self::NulByte => f.write_str("it contains a NUL byte"),
            Self::NoFileName => f.write_str("it has no file name"),
            Self::ThroughLink => f.write_str("it leads through a symbolic link"),
            Self::DeniedOrLink => {
                f.write_str("permission denied, or a link that leads out of its directory")
            }
            Self::NotRegular => f.write_str("not a regular file"),
            Self::TooLarge(most) => write!(f, "larger than {} MB", most / 1_000_000),
            Self::NotUtf8 => f.write_str("not valid UTF-8"),
        }
    }
}

impl From<std::io::Error> for PathReason {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// Why commands cannot be confined.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// The operating system is not Linux.
    NotLinux,
    /// The kernel has no Landlock, or too old a version of it.
    NoLandlock,
    /// The kernel cannot restrict connections to a list of hosts.
    NoHostList,
    /// A mechanism of the kernel failed.
    Failed {
        /// The mechanism, such as `seccomp`.
        mechanism: &'static str,
        /// The error of the system or of a library.
        error: String,
    },
    /// The check ended without a result.
    NotChecked,
}

impl Unsupported {
    /// Returns the reason that a mechanism failed.
    #[cfg(target_os = "linux")]
    pub(crate) fn failed(mechanism: &'static str, error: impl fmt::Display) -> Self {
        Self::Failed { mechanism, error: error.to_string() }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotLinux => "Landlock is available on Linux only",
            Self::NoLandlock => {
                "Landlock: the kernel does not support ABI 3 or later, or Landlock is disabled"
            }
            Self::NoHostList => {
                "Landlock: a list of hosts needs ABI 4 (Linux 6.7); allow the whole network or none"
            }
            Self::Failed { mechanism, error } => return write!(f, "{mechanism}: {error}"),
            Self::NotChecked => "the check for Landlock failed",
        })
    }
}
