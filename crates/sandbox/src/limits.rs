//! [`ResourceLimits`]: limits on the processes, memory and files of a command.

use serde::{Deserialize, Serialize};

/// Limits on the resources of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceLimits {
    /// Maximum number of processes and threads at a time.
    pub processes: u64,
    /// Maximum memory of all processes together, in bytes; half of the machine's memory, at most
    /// 16 GB, if `None`.
    pub memory: Option<u64>,
    /// Maximum number of open files of one process.
    pub open_files: u64,
    /// Maximum size of one file, in bytes; a quarter of the free space where the command may write,
    /// at most 5 GB, if `None`.
    pub file_bytes: Option<u64>,
    /// How much the free space of a disk to which the command may write may decrease while it runs,
    /// in bytes; three quarters of the free space if `None`. What other programs write counts too.
    pub disk_bytes: Option<u64>,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            processes: 4_096,
            memory: None,
            open_files: 65_536,
            file_bytes: None,
            disk_bytes: None,
        }
    }
}

/// The limit that a command exceeded and was killed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ExceededLimit {
    /// [`ResourceLimits::processes`].
    Processes,
    /// [`ResourceLimits::memory`].
    Memory,
    /// [`ResourceLimits::disk_bytes`].
    Disk,
}
