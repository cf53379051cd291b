//! Finds and kills the processes of a command: all members of its POSIX session, which none of them
//! can leave.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};

/// Maximum number of scans for remaining processes.
const MAX_SCANS: usize = 200;

/// How many scans in a row must find nothing. A single scan can miss a process that starts another
/// one and ends.
const EMPTY_SCANS: usize = 3;

/// Kills every process of a POSIX session except the calling one. Processes started meanwhile are
/// killed after the next scan.
pub(crate) fn kill_session(posix_session: Pid) {
    let mut empty_scans = 0;
    for _ in 0..MAX_SCANS {
        let remaining = members(posix_session);
        empty_scans = if remaining.is_empty() { empty_scans + 1 } else { 0 };
        if empty_scans == EMPTY_SCANS {
            return;
        }
        // All are stopped before the first is killed, so that none can start a replacement.
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in &remaining {
                // The process may already have ended.
                let _ = kill_process(*pid, signal);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills and reaps orphaned processes that became children of the supervisor, until none is left.
pub(crate) fn kill_children() {
    let mut scans = 0;
    while scans < MAX_SCANS {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => {
                scans += 1;
                for pid in children() {
                    let _ = kill_process(pid, Signal::KILL);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            // It has no children.
            Err(_) => return,
        }
    }
}

/// Waits until one child ends, and returns how it ended. Orphans that became children of this
/// process are reaped meanwhile: they would fill the process table.
pub(crate) fn wait_for(child: Pid) -> rustix::io::Result<WaitStatus> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => return Ok(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// What the processes of a POSIX session use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Number of processes and threads.
    pub(crate) tasks: u64,
    /// Memory in bytes, without files. Memory that several processes share counts for each of them.
    pub(crate) memory: u64,
}

/// Returns what the processes of a POSIX session use, without the calling one.
pub(crate) fn usage(posix_session: Pid) -> Usage {
    let mut usage = Usage::default();
    for pid in members(posix_session) {
        let pid = pid.as_raw_nonzero();
        usage.tasks += thread_count(pid.get()) as u64;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        usage.memory += kilobytes(&status, &["RssAnon:", "RssShmem:"]) * 1024;
    }
    usage
}

/// Returns the memory of a POSIX session in bytes, where shared memory counts once. This takes
/// longer than [`usage`].
pub(crate) fn shared_memory_once(posix_session: Pid) -> u64 {
    let proportional = |pid: Pid| {
        let path = format!("/proc/{}/smaps_rollup", pid.as_raw_nonzero());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        kilobytes(&text, &["Pss_Anon:", "Pss_Shmem:"]) * 1024
    };
    members(posix_session).into_iter().map(proportional).sum()
}

/// Returns the sum of fields in a file of `/proc`, whose lines are like `RssAnon:  12 kB`.
fn kilobytes(text: &str, names: &[&str]) -> u64 {
    let fields = text.lines().filter_map(|line| {
        let value = names.iter().find_map(|name| line.strip_prefix(name))?;
        value.trim().trim_end_matches(" kB").parse::<u64>().ok()
    });
    fields.sum()
}

/// Returns the children of this process.
fn children() -> Vec<Pid> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
        })
        .filter_map(Pid::from_raw)
        .collect()
}

fn thread_count(pid: i32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// Returns the running processes of a POSIX session, without the calling one.
fn members(posix_session: Pid) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_member = |pid: &i32| {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The process name may contain any bytes.
        let stat = String::from_utf8_lossy(&stat);
        // The fields after the name: state, parent, process group, POSIX session.
        let fields: Vec<&str> = stat
            .rsplit_once(')')
            .map(|(_, rest)| rest.split_whitespace().collect())
            .unwrap_or_default();
        let is_running = match fields.first() {
            // The main thread has ended; others may still run.
            Some(&"Z") => thread_count(*pid) > 1,
            state => state.is_some_and(|state| *state != "X"),
        };
        is_running
            && fields.get(3).and_then(|id| id.parse().ok())
                == Some(posix_session.as_raw_nonzero().get())
    };
    pids.filter(is_member).filter_map(Pid::from_raw).filter(|pid| *pid != getpid()).collect()
}
