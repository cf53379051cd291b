//! Applies the limits of a command to the calling process, which becomes the command.

use std::os::unix::fs::MetadataExt;

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

use crate::limits::ResourceLimits;

/// Lowers the limits of this process and of everything it starts.
pub(crate) fn apply(limits: &ResourceLimits) {
    lower(Resource::Nofile, limits.open_files);
    lower(Resource::Fsize, limits.file_bytes);
    // The kernel counts all processes of the user, not only those of the command. It never applies
    // this limit to root, whose processes the supervisor counts.
    lower(Resource::Nproc, tasks_of_user().saturating_add(limits.processes));
    // No real-time scheduling, and no priority above the current one.
    lower(Resource::Rtprio, 0);
    lower(Resource::Nice, 0);
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
