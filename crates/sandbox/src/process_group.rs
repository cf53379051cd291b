//! The processes of a command: all members of its POSIX session, which none of them can leave.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

/// How many times the processes that are left are looked for.
const ROUNDS: usize = 200;

/// How many times in a row none must be found: a process that starts another one and ends may be
/// missed between two looks.
const EMPTY: usize = 3;

/// Kills every process of a POSIX session but the calling one. Processes started meanwhile are
/// killed in the next round.
pub(crate) fn kill_session(posix_session: Pid) {
    let mut empty = 0;
    for _ in 0..ROUNDS {
        let left = members(posix_session);
        empty = if left.is_empty() { empty + 1 } else { 0 };
        if empty == EMPTY {
            return;
        }
        // All are stopped before the first is killed, so that none can start another in its place.
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in &left {
                // The process may have ended meanwhile.
                let _ = kill_process(*pid, signal);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills the processes whose parents ended and that became children of the supervisor, until there
/// are none.
pub(crate) fn kill_children() {
    for _ in 0..ROUNDS {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => {
                for pid in children() {
                    let _ = kill_process(pid, Signal::KILL);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            // There are no children.
            Err(_) => return,
        }
    }
}

/// The children of this process.
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

fn threads(pid: i32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// The processes of a POSIX session that still run, without the calling one.
fn members(posix_session: Pid) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let belongs = |pid: &i32| {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name may hold any bytes.
        let stat = String::from_utf8_lossy(&stat);
        // After the name: state, parent, group, POSIX session.
        let fields: Vec<&str> = stat
            .rsplit_once(')')
            .map(|(_, rest)| rest.split_whitespace().collect())
            .unwrap_or_default();
        let lives = match fields.first() {
            // Its first thread has ended; others may still run.
            Some(&"Z") => threads(*pid) > 1,
            state => state.is_some_and(|state| *state != "X"),
        };
        lives
            && fields.get(3).and_then(|id| id.parse().ok())
                == Some(posix_session.as_raw_nonzero().get())
    };
    pids.filter(belongs).filter_map(Pid::from_raw).filter(|pid| *pid != getpid()).collect()
}
