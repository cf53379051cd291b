//! The log itself: where it lies, and how reading and writing go through it. What it can do is in
//! the files beside this one, one operation a file.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::error::{LogError, Result};
use crate::options::Options;
use crate::store::{self, Connection, Store, Work};
use crate::workers::Workers;

/// Every message ever appended, and what hangs on it. Cheap to clone; may be used from many
/// threads. Calls block: async code uses [`AsyncLog`](crate::AsyncLog).
#[derive(Clone)]
pub struct Log {
    // Dropped first: it waits for the work that still uses the store.
    workers: Arc<Workers>,
    store: Arc<dyn Store>,
    clock: fn() -> i64,
    writes: Arc<AtomicU64>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Log({})", self.url())
    }
}

impl Log {
    /// Opens the log at an address: a file, `sqlite:FILE`, or `postgres://…`. A file that is not
    /// there is made.
    ///
    /// # Errors
    /// When it cannot be opened, is something else than a log, or was written by a newer program.
    pub fn open(url: &str) -> Result<Self> {
        Self::open_with(url, &Options::default())
    }

    /// Opens the log at an address.
    ///
    /// # Errors
    /// As [`Log::open`].
    pub fn open_with(url: &str, options: &Options) -> Result<Self> {
        let store = store::open(url, options)?;
        let workers = Arc::new(Workers::new(options.connections));
        Ok(Self { workers, store, clock: options.clock, writes: Arc::default() })
    }

    pub(crate) fn workers(&self) -> Arc<Workers> {
        Arc::clone(&self.workers)
    }

    /// The log for work on one of its own threads. It does not hold the pool: a pool waits for its
    /// threads when it is dropped, so none of them may hold it.
    pub(crate) fn for_worker(&self) -> Self {
        Self { writes: Arc::clone(&self.writes), ..Self::inside(&self.store, self.clock) }
    }

    /// The log on a store, with a pool of its own that starts no thread until it is used.
    pub(crate) fn inside(store: &Arc<dyn Store>, clock: fn() -> i64) -> Self {
        Self {
            workers: Arc::new(Workers::new(NonZeroUsize::MIN)),
            store: Arc::clone(store),
            clock,
            writes: Arc::default(),
        }
    }

    pub(crate) fn clock(&self) -> fn() -> i64 {
        self.clock
    }

    /// Its address, without a password.
    #[must_use]
    pub fn url(&self) -> &str {
        self.store.name()
    }

    /// The time by its clock: milliseconds since 1970.
    #[must_use]
    pub fn now(&self) -> i64 {
        (self.clock)()
    }

    /// How many transactions were written through this log and its clones since it was opened. What
    /// a session costs in flushes is measured with it.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    pub(crate) fn count_write(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Reads one consistent state.
    pub(crate) fn read<T>(
        &self,
        mut work: impl FnMut(&mut dyn Connection) -> Result<T>,
    ) -> Result<T> {
        let mut found = None;
        self.store.read(&mut |connection| {
            found = Some(work(connection)?);
            Ok(())
        })?;
        found.ok_or_else(|| self.nothing())
    }

    /// Writes in one transaction, durable when it returns. The work may be run again when two
    /// writers meet.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.through(work, |work| self.store.write(work))
    }

    /// Writes while nobody else does.
    pub(crate) fn write_alone<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.through(work, |work| self.store.write_alone(work))
    }

    /// Has the store do work that has a result.
    fn through<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Connection) -> Result<T> + Send + 'static,
        write: impl FnOnce(Work) -> Result<()>,
    ) -> Result<T> {
        let slot = Arc::new(Mutex::new(None));
        let place = Arc::clone(&slot);
        write(Box::new(move |connection| {
            let made = work(connection)?;
            if let Ok(mut place) = place.lock() {
                *place = Some(made);
            }
            Ok(())
        }))?;
        self.count_write();
        slot.lock().ok().and_then(|mut slot| slot.take()).ok_or_else(|| self.nothing())
    }

    fn nothing(&self) -> LogError {
        LogError::Database { name: self.url().to_owned(), text: "the work was not done".to_owned() }
    }
}
