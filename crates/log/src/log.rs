//! The log itself: where it lies, and how reading and writing go through it. What it can do is in the files beside this
//! one, one operation a file.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use crate::error::{LogError, Result};
use crate::store::{self, Connection, Store, Work};

/// How a log is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long to wait for another process's lock, or for a connection.
    pub wait: Duration,
    /// The clock: milliseconds since 1970.
    pub clock: fn() -> i64,
}

impl Default for Options {
    fn default() -> Self {
        Self { wait: Duration::from_secs(10), clock: system_clock }
    }
}

fn system_clock() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Every message ever appended, and what hangs on it. Cheap to clone; may be used from many threads. Calls block: in async
/// code they belong on a thread for blocking work.
#[derive(Clone)]
pub struct Log {
    store: Arc<dyn Store>,
    clock: fn() -> i64,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Log({})", self.url())
    }
}

impl Log {
    /// Opens the log at an address: a file, `sqlite:FILE`, or `postgres://…`. A file that is not there is made.
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
        let store = store::open(url, options.wait)?;
        Ok(Self { store: store.into(), clock: options.clock })
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

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Reads one consistent state.
    pub(crate) fn read<T>(&self, mut work: impl FnMut(&mut dyn Connection) -> Result<T>) -> Result<T> {
        let mut found = None;
        self.store.read(&mut |connection| {
            found = Some(work(connection)?);
            Ok(())
        })?;
        found.ok_or_else(|| self.nothing())
    }

    /// Writes in one transaction, durable when it returns. The work may be run again when two writers meet.
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
        slot.lock().ok().and_then(|mut slot| slot.take()).ok_or_else(|| self.nothing())
    }

    fn nothing(&self) -> LogError {
        LogError::Database { name: self.url().to_owned(), text: "the work was not done".to_owned() }
    }
}
