//! The limits of a command: those that the kernel enforces are applied to the calling process,
//! which becomes the command; the others are computed for the supervisor, which watches them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;
use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

use crate::rules::Rules;

/// The largest limits that are chosen if the host sets none.
const MAX_DEFAULT_MEMORY: u64 = 16_000_000_000;
const MAX_DEFAULT_FILE_BYTES: u64 = 5_000_000_000;

/// On a disk with less space, a program should see that the disk is full instead of being killed.
const MIN_DEFAULT_BYTES: u64 = 100_000_000;

/// Lowers the limits of this process and of everything it starts.
pub(crate) fn apply(rules: &Rules) {
    let limits = &rules.limits;
    lower(Resource::Nofile, limits.open_files);
    lower(Resource::Fsize, limits.file_bytes.unwrap_or_else(|| default_file_bytes(&rules.write)));
    // The kernel counts all processes of the user, not only those of the command. It never applies
    // this limit to root, whose processes the supervisor counts.
    lower(Resource::Nproc, tasks_of_user().saturating_add(limits.processes));
    // No real-time scheduling, and no priority above the current one.
    lower(Resource::Rtprio, 0);
    lower(Resource::Nice, 0);
}

/// Returns the limit on memory in bytes, if the host sets none.
pub(crate) fn default_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|total| total.trim().trim_end_matches(" kB").parse().ok());
    kilobytes.map_or(u64::MAX, |size: u64| size.saturating_mul(1024) / 2).min(MAX_DEFAULT_MEMORY)
}

/// Returns the limit on the size of a file, if the host sets none. `directories` are those that the
/// command may change.
fn default_file_bytes(directories: &[PathBuf]) -> u64 {
    let free = directories.iter().filter_map(free_bytes).min().unwrap_or(u64::MAX);
    (free / 4).clamp(MIN_DEFAULT_BYTES, MAX_DEFAULT_FILE_BYTES)
}

/// The least free space that a command may leave on each disk to which it may write.
#[derive(Debug)]
pub(crate) struct LeastFree(Vec<(PathBuf, u64)>);

impl LeastFree {
    pub(crate) fn new(rules: &Rules) -> Self {
        let limited = |path: &PathBuf| {
            let free = free_bytes(path)?;
            let most =
                rules.limits.disk_bytes.unwrap_or_else(|| (free / 4 * 3).max(MIN_DEFAULT_BYTES));
            Some((path.clone(), free.checked_sub(most)?))
        };
        Self(rules.write.iter().filter_map(limited).collect())
    }

    pub(crate) fn is_exceeded(&self) -> bool {
        self.0.iter().any(|(path, least)| free_bytes(path).is_some_and(|free| free < *least))
    }
}

/// Returns the free space of the disk that a directory is on.
fn free_bytes(directory: impl AsRef<Path>) -> Option<u64> {
    let stat = statvfs(directory.as_ref()).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn lower(resource: Resource, limit: u64) {
    let Rlimit { current, maximum } = getrlimit(resource);
    let at_most = |value: Option<u64>| Some(value.map_or(limit, |value| value.min(limit)));
    // Lowering a limit is always allowed.
    let _ = setrlimit(resource, Rlimit { current: at_most(current), maximum: at_most(maximum) });
}

/// Returns the number of processes and threads of this user.
fn tasks_of_user() -> u64 {
    let uid = getuid().as_raw();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = entries.filter(|entry| {
        entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit)
            && entry.metadata().is_ok_and(|metadata| metadata.uid() == uid)
    });
    // The directory has two more hard links than the process has threads.
    own.map(|entry| {
        let tasks = std::fs::metadata(entry.path().join("task"));
        tasks.map_or(1, |tasks| tasks.nlink().saturating_sub(2).max(1))
    })
    .sum()
}
