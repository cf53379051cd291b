//! Many messages at once: this thread reads rows and appends messages, the other cores unpack,
//! check and parse what lies between.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use waterline::history::{History, Prepared};

use crate::entry::{Entry, rows_of_run};
use crate::error::{LogError, Result};
use crate::import::Parse;
use crate::store::{Connection, Row};
use crate::tree::{Path, Tip};

/// How many rows a thread takes at a time.
const ROWS: usize = 256;

/// Chunks that wait for a thread, so that rows are not read faster than they are used.
const WAITING: usize = 16;

/// Rows in their order, by the number of their chunk.
type Chunk = (usize, Vec<Row>);

/// What became of a chunk: each message with its tokens, if they were counted by the history's
/// counter.
type Ready = (usize, Result<Vec<(Prepared, Option<usize>)>>);

/// Appends the messages behind a place.
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
    let (chunks, waiting) = sync_channel(WAITING);
    let waiting = Mutex::new(waiting);
    let (done, ready) = channel();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            let (preparer, waiting, done) = (&preparer, &waiting, done.clone());
            scope.spawn(move || preparer.serve(waiting, &done));
        }
        drop(done);
        let mut merge = Merge { history, ready, next: 0, early: BTreeMap::new() };
        let mut feed = Feed { chunks, rows: Vec::with_capacity(ROWS), sent: 0 };
        for run in path.runs(after) {
            rows_of_run(connection, run, &mut |row| {
                if feed.add(row)? {
                    merge.take_ready()?;
                }
                Ok(())
            })?;
        }
        feed.end()?;
        merge.finish()
    })
}

struct Preparer {
    name: String,
    counter: String,
    parse: Parse,
}

impl Preparer {
    fn serve(&self, waiting: &Mutex<Receiver<Chunk>>, done: &Sender<Ready>) {
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        while let Ok((number, rows)) = next() {
            let prepared = rows.into_iter().map(|row| self.prepare(row)).collect();
            if done.send((number, prepared)).is_err() {
                return;
            }
        }
    }

    fn prepare(&self, row: Row) -> Result<(Prepared, Option<usize>)> {
        let entry = Entry::of(&self.name, row)?;
        let tokens = (entry.counter == self.counter).then_some(entry.tokens);
        Ok((Prepared::new(entry.message(self.parse)), tokens))
    }
}

/// The rows on their way to the threads.
struct Feed {
    chunks: SyncSender<Chunk>,
    rows: Vec<Row>,
    sent: usize,
}

impl Feed {
    /// Adds a row, and says whether a chunk was sent.
    fn add(&mut self, row: Row) -> Result<bool> {
        self.rows.push(row);
        if self.rows.len() < ROWS {
            return Ok(false);
        }
        self.send()?;
        Ok(true)
    }

    fn send(&mut self) -> Result<()> {
        let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(ROWS));
        self.chunks.send((self.sent, rows)).map_err(|_| stopped())?;
        self.sent += 1;
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        if self.rows.is_empty() { Ok(()) } else { self.send() }
    }
}

/// The prepared messages, put back into their order.
struct Merge<'a> {
    history: &'a mut History,
    ready: Receiver<Ready>,
    next: usize,
    /// Chunks that came before their turn.
    early: BTreeMap<usize, Vec<(Prepared, Option<usize>)>>,
}

impl Merge<'_> {
    /// Appends what is ready by now.
    fn take_ready(&mut self) -> Result<()> {
        while let Ok((number, prepared)) = self.ready.try_recv() {
            self.take(number, prepared?);
        }
        Ok(())
    }

    /// Waits for everything and appends it.
    fn finish(mut self) -> Result<()> {
        while let Ok((number, prepared)) = self.ready.recv() {
            self.take(number, prepared?);
        }
        if self.early.is_empty() { Ok(()) } else { Err(stopped()) }
    }

    fn take(&mut self, number: usize, prepared: Vec<(Prepared, Option<usize>)>) {
        self.early.insert(number, prepared);
        while let Some(prepared) = self.early.remove(&self.next) {
            self.next += 1;
            for (prepared, tokens) in prepared {
                self.history.append_prepared(prepared, tokens);
            }
        }
    }
}

fn stopped() -> LogError {
    LogError::Refused("a thread that reads messages ended early".to_owned())
}
