//! Loads many messages in parts: each part is read, verified and parsed, and its values are
//! indexed. The parts of a long history are read in parallel and appended in order. Of messages
//! whose texts are not needed, only roles and token counts are read.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use waterline::history::{Chunk, History};
use waterline::message::Role;

use waterline::phrase;

use crate::entry::{each_of_run, outlines_of_run};
use crate::error::{LogError, Result};
use crate::import::Parse;
use crate::log::Log;
use crate::store::Connection;
use crate::tree::Run;

/// How many parts there are per thread. While the last ones are read, the first are appended.
const PARTS_PER_THREAD: u64 = 2;

/// A smaller part is not worth a statement of its own.
const MIN_MESSAGES: u64 = 256;

/// A larger part would only take more memory until it is appended.
const MAX_MESSAGES: u64 = 1_024;

/// Fewer messages are read by one thread: it takes less memory and, at that size, hardly more time.
const MIN_PARALLEL: u64 = 20_000;

/// Consecutive messages of one branch, and whether their texts are needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) run: Run,
    pub(crate) has_texts: bool,
}

impl Stretch {
    /// Messages whose texts are needed.
    pub(crate) const fn with_texts(run: Run) -> Self {
        Self { run, has_texts: true }
    }
}

/// What one thread loads at a time.
#[derive(Clone, Copy, Debug)]
struct Part {
    number: usize,
    /// The index of the first message in the history.
    first: usize,
    stretch: Stretch,
}

/// The number of a part, and its messages.
type Ready = (usize, Result<Chunk>);

/// Appends the messages of these stretches to a history. Messages never change, so the threads need
/// not read the same snapshot.
pub(crate) fn load(
    log: &Log,
    history: &mut History,
    stretches: &[Stretch],
    parse: Parse,
) -> Result<()> {
    let messages: u64 = stretches.iter().map(|stretch| stretch.run.upto - stretch.run.after).sum();
    let threads = match messages < MIN_PARALLEL {
        true => 1,
        false => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let parts = parts_of(stretches, history.len(), threads as u64);
    let reader = Reader { log, counter: history.counter().name(), parse };
    if threads == 1 {
        for part in parts {
            history.append_chunk(reader.read_safely(part)?);
        }
        return Ok(());
    }
    let parts = Mutex::new(parts.into_iter());
    let (done, ready) = channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let parts = &parts;
            let reader = &reader;
            let done = done.clone();
            scope.spawn(move || reader.run(parts, &done));
        }
        // The receiver ends when the last thread drops its sender.
        drop(done);
        append_in_order(history, &ready)
    })
}

/// Divides stretches into parts, those with and those without texts into parts of about the same
/// size.
fn parts_of(stretches: &[Stretch], mut first: usize, threads: u64) -> Vec<Part> {
    let size = |has_texts: bool| {
        let alike = stretches.iter().filter(|stretch| stretch.has_texts == has_texts);
        let messages: u64 = alike.map(|stretch| stretch.run.upto - stretch.run.after).sum();
        messages.div_ceil(threads * PARTS_PER_THREAD).clamp(MIN_MESSAGES, MAX_MESSAGES)
    };
    let sizes = [false, true].map(size);
    let mut parts = Vec::new();
    for &Stretch { run, has_texts } in stretches {
        let [without, with] = sizes;
        let size = if has_texts { with } else { without };
        let mut after = run.after;
        while after < run.upto {
            let upto = run.upto.min(after + size);
            let run = Run { branch: run.branch, after, upto };
            parts.push(Part { number: parts.len(), first, stretch: Stretch { run, has_texts } });
            first += usize::try_from(upto - after).unwrap_or_default();
            after = upto;
        }
    }
    parts
}

struct Reader<'a> {
    log: &'a Log,
    counter: String,
    parse: Parse,
}

impl Reader<'_> {
    fn run(&self, parts: &Mutex<impl Iterator<Item = Part>>, done: &Sender<Ready>) {
        let next = || parts.lock().ok()?.next();
        while let Some(part) = next() {
            let outcome = self.read_safely(part);
            let failed = outcome.is_err();
            if done.send((part.number, outcome)).is_err() || failed {
                return;
            }
        }
    }

    /// Reads a part. A parser that panics must not end the program.
    fn read_safely(&self, part: Part) -> Result<Chunk> {
        let read = catch_unwind(AssertUnwindSafe(|| self.read(part)));
        read.unwrap_or_else(|_| Err(stopped()))
    }

    fn read(&self, part: Part) -> Result<Chunk> {
        let Stretch { run, has_texts } = part.stretch;
        self.log.read(|connection| {
            let mut chunk = Chunk::new(part.first);
            match has_texts {
                true => self.read_texts(connection, run, &mut chunk)?,
                false => self.read_outlines(connection, run, &mut chunk)?,
            }
            // Messages can only be missing if the session was erased meanwhile.
            let is_complete = chunk.len() as u64 == run.upto - run.after;
            if is_complete { Ok(chunk) } else { Err(connection.race()) }
        })
    }

    fn read_texts(
        &self,
        connection: &mut dyn Connection,
        run: Run,
        chunk: &mut Chunk,
    ) -> Result<()> {
        each_of_run(connection, run, &mut |entry| {
            let tokens = (entry.counter == self.counter).then_some(entry.tokens);
            chunk.push(entry.into_message(self.parse), tokens);
            Ok(())
        })
    }

    /// System messages are always sent, so they are read even if the others are not.
    fn read_outlines(
        &self,
        connection: &mut dyn Connection,
        run: Run,
        chunk: &mut Chunk,
    ) -> Result<()> {
        let outlines = outlines_of_run(connection, run)?;
        for (upto, (role, tokens)) in (run.after + 1..).zip(outlines) {
            match role {
                Role::System => {
                    let only = Run { after: upto - 1, upto, ..run };
                    self.read_texts(connection, only, chunk)?;
                }
                _ => chunk.push_unread(role, tokens),
            }
        }
        Ok(())
    }
}

fn append_in_order(history: &mut History, ready: &Receiver<Ready>) -> Result<()> {
    let mut next = 0;
    let mut early: BTreeMap<usize, Chunk> = BTreeMap::new();
    while let Ok((number, chunk)) = ready.recv() {
        early.insert(number, chunk?);
        while let Some(chunk) = early.remove(&next) {
            next += 1;
            history.append_chunk(chunk);
        }
    }
    Ok(())
}

fn stopped() -> LogError {
    LogError::refused(phrase!(
        "log-parser-panicked",
        "a message could not be prepared: its parser panicked"
    ))
}
