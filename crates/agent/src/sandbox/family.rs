//! The processes of a command: all those of its session, which none of them can leave.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

/// How often it is looked for what is left of a command.
const ROUNDS: usize = 200;

/// How often in a row nothing must be found: one that starts another and ends may be missed between two looks.
const EMPTY: usize = 3;

/// Ends every process of a session but the own one. What is started while others are ended is ended in the next round.
pub(super) fn end(session: Pid) {
    let mut empty = 0;
    for _ in 0..ROUNDS {
        let left = of_session(session);
        empty = if left.is_empty() { empty + 1 } else { 0 };
        if empty == EMPTY {
            return;
        }
        // All are stopped before the first is ended, so that none can start another in its place.
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in &left {
                // What has ended meanwhile needs no end.
                let _ = kill_process(*pid, signal);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Ends what was left to the keeper by parents that ended, whatever it is called and wherever it stands, until there is none.
pub(super) fn end_children() {
    for _ in 0..ROUNDS {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => {
                for pid in children() {
                    let _ = kill_process(pid, Signal::KILL);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            // There are none.
            Err(_) => return,
        }
    }
}

/// The children of this process.
fn children() -> Vec<Pid> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
        .filter_map(Pid::from_raw)
        .collect()
}

fn threads(pid: i32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// The processes of a session that are not ended yet, without the own one.
fn of_session(session: Pid) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let belongs = |pid: &i32| {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name may hold any bytes.
        let stat = String::from_utf8_lossy(&stat);
        // Behind the name: state, parent, group, session.
        let fields: Vec<&str> =
            stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
        let lives = match fields.first() {
            // Its first thread has ended; others may go on.
            Some(&"Z") => threads(*pid) > 1,
            state => state.is_some_and(|state| *state != "X"),
        };
        lives && fields.get(3).and_then(|id| id.parse().ok()) == Some(session.as_raw_nonzero().get())
    };
    pids.filter(belongs).filter_map(Pid::from_raw).filter(|pid| *pid != getpid()).collect()
}
