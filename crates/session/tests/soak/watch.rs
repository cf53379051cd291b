//! Watches what a soak test uses: the memory of its workers, the processes they start, and the
//! bytes of the log per message.

use std::fmt;
use std::path::Path;

use libtest_mimic::Failed;
use waterline_log::Log;

/// Maximum memory of one worker. A session of any length needs its context, not its history.
const MAX_MEMORY_KB: u64 = 256 << 10;

/// How much more memory a worker at the end may use than one in the first quarter. Memory that
/// grows with the session would show there.
const MAX_GROWTH_PERCENT: u64 = 50;
const MAX_GROWTH_KB: u64 = 16 << 10;

/// The memory of a process that runs a whole session: what it has at the start, and the messages
/// with their values and token counts, which stay in memory.
const BASE_MEMORY_KB: u64 = 32 << 10;
const MAX_MEMORY_PER_CONTENT: u64 = 10;

/// A shorter session says nothing about growth.
const MIN_MESSAGES: u64 = 1_000;

/// A worker starts no processes.
const MAX_CHILDREN: usize = 0;

/// The log may take this many times the bytes of its messages, plus what an empty log takes. A
/// session of a few messages has as many checkpoints and contexts as messages.
const MAX_OVERHEAD: u64 = 20;

/// The size of a log with few messages. On a server, each table and each index has a file, and rows
/// that were replaced stay until the server removes them.
const BASE_BYTES: u64 = 512 << 10;
const BASE_BYTES_ON_SERVER: u64 = 4 << 20;

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    memory_kb: u64,
    /// The memory of the running worker.
    current_kb: u64,
    /// The memory of each worker that has ended, with the messages of the session then.
    workers: Vec<(u64, u64)>,
    children: usize,
    messages: u64,
    content: u64,
    /// The bytes of the log.
    stored: u64,
    is_on_server: bool,
}

impl Watch {
    /// Reads the memory and the children of a worker. A worker that has ended is not counted.
    pub(crate) fn look(&mut self, pid: u32) {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        self.current_kb = self.current_kb.max(peak.unwrap_or_default());
        self.memory_kb = self.memory_kb.max(self.current_kb);
        // Any thread may start a process.
        let threads =
            std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let children = threads.map(|thread| {
            let list = std::fs::read_to_string(thread.path().join("children"));
            list.unwrap_or_default().split_whitespace().count()
        });
        self.children = self.children.max(children.sum());
    }

    /// Notes that a worker has ended when the session had this many messages.
    pub(crate) fn worker_ended(&mut self, messages: u64) {
        self.workers.push((messages, std::mem::take(&mut self.current_kb)));
    }

    /// Returns the memory of the workers in the first and in the last quarter of the session.
    fn growth(&self) -> Option<(u64, u64)> {
        let largest = |is_counted: &dyn Fn(u64) -> bool| {
            let counted = self.workers.iter().filter(|(messages, _)| is_counted(*messages));
            counted.map(|(_, memory)| *memory).max()
        };
        let early = largest(&|messages| messages * 4 <= self.messages)?;
        let late = largest(&|messages| messages * 4 >= self.messages * 3)?;
        (self.messages >= MIN_MESSAGES).then_some((early, late))
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
        } else {
            self.is_on_server = true;
            self.stored = log.stats()?.database_bytes;
        }
        Ok(())
    }

    /// Checks the limits. `is_one_process` says whether one worker ran the whole session.
    pub(crate) fn check(&self, is_one_process: bool) -> Result<(), Failed> {
        let content_kb = self.content >> 10;
        let max_memory_kb = match is_one_process {
            true => BASE_MEMORY_KB + content_kb * MAX_MEMORY_PER_CONTENT,
            false => MAX_MEMORY_KB,
        };
        let is_steady = self.growth().is_none_or(|(early, late)| {
            late <= early + early * MAX_GROWTH_PERCENT / 100 + MAX_GROWTH_KB
        });
        let base = if self.is_on_server { BASE_BYTES_ON_SERVER } else { BASE_BYTES };
        let within = self.memory_kb <= max_memory_kb
            && is_steady
            && self.children == MAX_CHILDREN
            && self.stored <= base + self.content * MAX_OVERHEAD;
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
        )?;
        match self.growth() {
            Some((early, late)) => {
                write!(
                    f,
                    ", {} MB in the first quarter, {} MB in the last",
                    early >> 10,
                    late >> 10
                )
            }
            None => Ok(()),
        }
    }
}
