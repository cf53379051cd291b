//! Watches what a soak test uses: the memory of its workers, the processes they start, and the
//! bytes of the log per message.

use std::fmt;
use std::path::Path;

use libtest_mimic::Failed;
use waterline_log::Log;

/// The most memory of one worker. A session of any length needs its context, not its history.
const MAX_MEMORY_KB: u64 = 256 << 10;

/// A worker starts no processes.
const MAX_CHILDREN: usize = 0;

/// The log may take this many times the bytes of its messages, plus what an empty log takes. A
/// session of a few messages has as many checkpoints and contexts as messages.
const MAX_OVERHEAD: u64 = 20;

/// The size of a log with few messages.
const BASE_BYTES: u64 = 512 << 10;

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    memory_kb: u64,
    children: usize,
    messages: u64,
    content: u64,
    /// The bytes of an SQLite log; 0 for a server.
    stored: u64,
}

impl Watch {
    /// Reads the memory and the children of a worker. A worker that has ended is not counted.
    pub(crate) fn look(&mut self, pid: u32) {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        self.memory_kb = self.memory_kb.max(peak.unwrap_or_default());
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default().split_whitespace().count();
        self.children = self.children.max(children);
    }

    /// Measures the log.
    pub(crate) fn measure(&mut self, log: &Log, directory: &Path) -> Result<(), Failed> {
        for entry in log.entries("soak")? {
            self.messages += 1;
            self.content += entry.bytes.len() as u64;
        }
        // A copy, without the pages that were written and not yet moved or freed.
        let copy = directory.join("copy.db");
        if directory.join("log.db").exists() {
            log.backup(&copy)?;
            self.stored = std::fs::metadata(copy)?.len();
        }
        Ok(())
    }

    /// Checks the limits.
    pub(crate) fn check(&self) -> Result<(), Failed> {
        let within = self.memory_kb <= MAX_MEMORY_KB
            && self.children == MAX_CHILDREN
            && self.stored <= BASE_BYTES + self.content * MAX_OVERHEAD;
        if within { Ok(()) } else { Err(format!("too much is used: {self}").into()) }
    }
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages = self.messages.max(1);
        write!(
            f,
            "{} MB memory at most, {} child processes, {} bytes per message for {} of content",
            self.memory_kb >> 10,
            self.children,
            self.stored / messages,
            self.content / messages
        )
    }
}
