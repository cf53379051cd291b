//! The processes of a command: all those of its session, which none of them can leave.

use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process};

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

/// The processes of a session that are not ended yet, without the own one.
fn of_session(session: Pid) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let belongs = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Behind the name, which may hold anything: state, parent, group, session.
        let fields: Vec<&str> =
            stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
        let lives = fields.first().is_some_and(|state| *state != "Z" && *state != "X");
        lives && fields.get(3).and_then(|id| id.parse().ok()) == Some(session.as_raw_nonzero().get())
    };
    pids.filter(belongs).filter_map(Pid::from_raw).filter(|pid| *pid != getpid()).collect()
}
