//! [`Log`]: opening it, and its read and write transactions. Its operations are in the neighboring
//! files, one topic per file.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use waterline::phrase;

use crate::error::{LogError, Result};
use crate::options::Options;
use crate::store::{self, Connection, Store, Work};
use crate::workers::Workers;

/// An open log: all sessions, their messages and the data that belongs to them.
///
/// A `Log` is cheap to clone, and clones share the connections. It can be used from many threads
/// and many processes. Every method is one transaction: when a method that writes returns, its
/// changes are durable. Methods block; async code uses [`AsyncLog`](crate::AsyncLog).
///
/// - Sessions: [`create`](Self::create), [`session`](Self::session), [`find`](Self::find),
///   [`sessions`](Self::sessions), [`save`](Self::save), [`fork`](Self::fork)
/// - Messages: [`append`](Self::append), [`resend`](Self::resend), [`entries`](Self::entries),
///   [`each`](Self::each), [`search`](Self::search), [`vectors`](Self::vectors)
/// - History: [`rewind`](Self::rewind), [`redo`](Self::redo), [`branches`](Self::branches),
///   [`checkpoint`](Self::checkpoint), [`restore`](Self::restore)
/// - Model calls: [`resume`](Self::resume), [`commit`](Self::commit), [`usage`](Self::usage)
/// - Maintenance: [`verify`](Self::verify), [`backup`](Self::backup), [`export`](Self::export),
///   [`import`](Self::import), [`erase`](Self::erase), [`stats`](Self::stats)
#[derive(Clone)]
pub struct Log {
    // Dropped first: dropping it waits for jobs that still use the store.
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
    /// Opens the log at a URL: a file path, `sqlite:FILE`, or `postgres://user@host/database`.
    ///
    /// Creates the file, or the tables on the server, if they are missing, and migrates a log of an
    /// older format. A read-only file of the current format opens for reading.
    ///
    /// # Errors
    /// If the log cannot be opened, the file is not a log, or a newer version wrote it.
    pub fn open(url: &str) -> Result<Self> {
        Self::open_with(url, &Options::default())
    }

    /// Opens the log at a URL, with options.
    ///
    /// # Errors
    /// Same as [`Log::open`].
    pub fn open_with(url: &str, options: &Options) -> Result<Self> {
        let store = store::open(url, options)?;
        let workers = Arc::new(Workers::new(options.connections, options.queue));
        Ok(Self { workers, store, clock: options.clock, writes: Arc::default() })
    }

    pub(crate) fn workers(&self) -> Arc<Workers> {
        Arc::clone(&self.workers)
    }

    /// Returns a clone for a job on one of the worker threads. The clone does not hold the pool:
    /// dropping a pool waits for its threads, so no thread may hold it.
    pub(crate) fn for_worker(&self) -> Self {
        Self { writes: Arc::clone(&self.writes), ..Self::inside(&self.store, self.clock) }
    }

    /// Returns a log on this store, with a separate pool that starts its threads on first use.
    pub(crate) fn inside(store: &Arc<dyn Store>, clock: fn() -> i64) -> Self {
        Self {
            workers: Arc::new(Workers::new(NonZeroUsize::MIN, NonZeroUsize::MIN)),
            store: Arc::clone(store),
            clock,
            writes: Arc::default(),
        }
    }

    pub(crate) fn clock(&self) -> fn() -> i64 {
        self.clock
    }

    /// Returns the URL of the log, without a password.
    #[must_use]
    pub fn url(&self) -> &str {
        self.store.name()
    }

    /// Returns the current time of the log's clock, in milliseconds since 1970.
    #[must_use]
    pub fn now(&self) -> i64 {
        (self.clock)()
    }

    /// Returns the number of transactions written through this log and its clones since it was
    /// opened. Use it to measure the flushes that an operation costs.
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

    /// Runs `work` on one consistent snapshot.
    pub(crate) fn read<T>(
        &self,
        mut work: impl FnMut(&mut dyn Connection) -> Result<T>,
    ) -> Result<T> {
        let mut found = None;
        self.store.read(&mut |connection| {
            found = Some(work(connection)?);
            Ok(())
        })?;
        found.ok_or_else(|| self.no_result())
    }

    /// Runs `work` in one write transaction, which is durable on return. After a write conflict
    /// `work` runs again.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.with_result(work, |work| self.store.write(work))
    }

    /// Runs `work` in a write transaction that excludes all other writers.
    pub(crate) fn write_alone<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.with_result(work, |work| self.store.write_alone(work))
    }

    /// Passes `work` to the store, whose jobs return nothing, and returns its result.
    fn with_result<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Connection) -> Result<T> + Send + 'static,
        write: impl FnOnce(Work) -> Result<()>,
    ) -> Result<T> {
        let result = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&result);
        write(Box::new(move |connection| {
            let outcome = work(connection)?;
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(outcome);
            }
            Ok(())
        }))?;
        self.count_write();
        result.lock().ok().and_then(|mut slot| slot.take()).ok_or_else(|| self.no_result())
    }

    fn no_result(&self) -> LogError {
        let text = phrase!("log-no-result", "the transaction ended without a result");
        LogError::Database { name: self.url().to_owned(), text }
    }
}
