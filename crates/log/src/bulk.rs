//! Loads many messages in parallel. The calling thread reads rows and appends messages; worker
//! threads decompress, verify and parse them in between.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use waterline::history::{History, Prepared};

use crate::entry::{Entry, rows_of_run};
use crate::error::{LogError, Result};
use crate::import::Parse;
use crate::store::{Connection, Row};
use crate::tree::{Path, Tip};

/// How many rows a worker takes at a time.
const ROWS_PER_CHUNK: usize = 256;

/// How many chunks may wait for a worker. The limit keeps rows from being read faster than they are
/// used.
const MAX_WAITING: usize = 16;

/// The number of a chunk, and its rows in order.
type Chunk = (usize, Vec<Row>);

/// A message, and its tokens if they were counted by the history's counter.
type Counted = (Prepared, Option<usize>);

/// The number of a chunk, and its messages.
type Ready = (usize, Result<Vec<Counted>>);

/// Appends the messages after position `after` up to `tip` to a history.
pub(crate) fn load(
    connection: &mut dyn Connection,
    history: &mut History,
    tip: Tip,
    after: u64,
    parse: Parse,
) -> Result<()> {
    let preparer =
        Preparer { name: connection.name().to_owned(), counter: history.counter().name(), parse };
    let path = Path::of(connection, tip)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (chunks, waiting) = sync_channel(MAX_WAITING);
    let waiting = Mutex::new(waiting);
    let (done, ready) = channel();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            let preparer = &preparer;
            let waiting = &waiting;
            let done = done.clone();
            scope.spawn(move || preparer.run(waiting, &done));
        }
        // The receiver ends when the last worker drops its sender.
        drop(done);
        let mut merge = Merge { history, ready, next: 0, early: BTreeMap::new() };
        let mut feed = Feed { chunks, rows: Vec::with_capacity(ROWS_PER_CHUNK), sent: 0 };
        for run in path.runs(after) {
            rows_of_run(connection, run, &mut |row| {
                if feed.add(row)? {
                    merge.take_ready()?;
                }
                Ok(())
            })?;
        }
        feed.finish()?;
        merge.finish()
    })
}

struct Preparer {
    name: String,
    counter: String,
    parse: Parse,
}

impl Preparer {
    fn run(&self, waiting: &Mutex<Receiver<Chunk>>, done: &Sender<Ready>) {
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        while let Ok((number, rows)) = next() {
            // A panic must not end the worker: if all ended, the sender would wait forever.
            let prepare = || rows.into_iter().map(|row| self.prepare(row)).collect();
            let messages = catch_unwind(AssertUnwindSafe(prepare));
            let messages = messages.unwrap_or_else(|_| Err(stopped()));
            if done.send((number, messages)).is_err() {
                return;
            }
        }
    }

    fn prepare(&self, row: Row) -> Result<Counted> {
        let entry = Entry::of(&self.name, row)?;
        let tokens = (entry.counter == self.counter).then_some(entry.tokens);
        Ok((Prepared::new(entry.message(self.parse)), tokens))
    }
}

/// Collects rows into chunks and sends them to the workers.
struct Feed {
    chunks: SyncSender<Chunk>,
    rows: Vec<Row>,
    sent: usize,
}

impl Feed {
    /// Adds a row. Returns whether that completed a chunk, which was then sent.
    fn add(&mut self, row: Row) -> Result<bool> {
        self.rows.push(row);
        if self.rows.len() < ROWS_PER_CHUNK {
            return Ok(false);
        }
        self.send()?;
        Ok(true)
    }

    fn send(&mut self) -> Result<()> {
        let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(ROWS_PER_CHUNK));
        self.chunks.send((self.sent, rows)).map_err(|_| stopped())?;
        self.sent += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        if self.rows.is_empty() { Ok(()) } else { self.send() }
    }
}

/// Appends the prepared messages in their original order.
struct Merge<'a> {
    history: &'a mut History,
    ready: Receiver<Ready>,
    next: usize,
    /// Chunks that were ready before an earlier one.
    early: BTreeMap<usize, Vec<Counted>>,
}

impl Merge<'_> {
    /// Appends the chunks that are ready, without waiting.
    fn take_ready(&mut self) -> Result<()> {
        while let Ok((number, messages)) = self.ready.try_recv() {
            self.take(number, messages?);
        }
        Ok(())
    }

    /// Waits for all remaining chunks and appends them.
    fn finish(mut self) -> Result<()> {
        while let Ok((number, messages)) = self.ready.recv() {
            self.take(number, messages?);
        }
        if self.early.is_empty() { Ok(()) } else { Err(stopped()) }
    }

    fn take(&mut self, number: usize, messages: Vec<Counted>) {
        self.early.insert(number, messages);
        while let Some(messages) = self.early.remove(&self.next) {
            self.next += 1;
            for (prepared, tokens) in messages {
                self.history.append_prepared(prepared, tokens);
            }
        }
    }
}

fn stopped() -> LogError {
    LogError::Refused("a message could not be prepared: its parser panicked".into())
}
