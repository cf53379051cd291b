//! The log for async programs: callers await, and the blocking work is done on a bounded number of
//! the log's own threads.
//!
//! Operations are those of [`Log`]; a closure receives it on a thread where blocking is allowed.
//! Work that was begun is done to its end even if the future is dropped.

use std::fmt;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::options::Options;
use crate::workers::Workers;

/// A log for async programs. Cheap to clone; all clones share the worker threads.
///
/// ```no_run
/// # async fn example() -> waterline_log::Result<()> {
/// let log = waterline_log::AsyncLog::open("sessions.db", &waterline_log::Options::default()).await?;
/// let session = log.run(|log| log.session("main")).await?;
/// # drop(session); Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AsyncLog {
    log: Log,
    workers: Arc<Workers>,
}

impl fmt::Debug for AsyncLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AsyncLog({}, {} threads)", self.log.url(), self.workers.most())
    }
}

impl Log {
    /// The log for async programs.
    #[must_use]
    pub fn handle(&self) -> AsyncLog {
        AsyncLog { workers: self.workers(), log: self.clone() }
    }
}

impl AsyncLog {
    /// Opens the log at an address without blocking the caller's thread.
    ///
    /// # Errors
    /// As [`Log::open`].
    pub async fn open(url: &str, options: &Options) -> Result<Self> {
        let (url, options) = (url.to_owned(), options.clone());
        let (reply, opened) = oneshot::channel();
        // Not awaited by a pool: a caller that gives up must not wait for a server that does not
        // answer.
        std::thread::spawn(move || drop(reply.send(Log::open_with(&url, &options))));
        let log = opened
            .await
            .map_err(|_| LogError::Refused("the log's thread ended early".to_owned()))??;
        Ok(log.handle())
    }

    /// The same log for threads that may block. Its calls must not be made on a thread that drives
    /// async work.
    #[must_use]
    pub const fn blocking(&self) -> &Log {
        &self.log
    }

    /// The time by the log's clock: milliseconds since 1970.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.log.now()
    }

    /// Does work on the log. Each operation in it is a transaction of its own.
    ///
    /// # Errors
    /// What the work returns.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Log) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (log, (reply, done)) = (self.log.for_worker(), oneshot::channel());
        self.workers.run(Box::new(move || {
            let outcome = work(&log);
            // The log is released first: a caller that drops its handle next is then the last one
            // to hold it.
            drop(log);
            // The caller may be gone; what was done stays done.
            drop(reply.send(outcome));
        }));
        done.await.unwrap_or_else(|_| Err(self.stopped()))
    }

    /// Does work on the log that nobody waits for.
    pub fn detach(&self, work: impl FnOnce(&Log) + Send + 'static) {
        let log = self.log.for_worker();
        self.workers.run(Box::new(move || work(&log)));
    }

    /// Does several operations in one transaction: all of them are durable when the future is
    /// ready, or none of them happened. The work is queued at once, before the future is polled, so
    /// a caller can do something else in the meantime. Writes that wait at the same time share one
    /// flush. The work may be run again when two writers meet, and must use only the log that it is
    /// given.
    ///
    /// # Errors
    /// What the work returns, or why it could not be committed.
    pub fn write<T, W>(&self, work: W) -> impl Future<Output = Result<T>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: Fn(&Log) -> Result<T> + Send + 'static,
    {
        let (reply, done) = oneshot::channel();
        let made = Arc::new(Mutex::new(None));
        let (slot, clock) = (Arc::clone(&made), self.log.clock());
        let job: crate::store::Job = Box::new(move |store| {
            let outcome = work(&Log::inside(store, clock))?;
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(outcome);
            }
            Ok(())
        });
        let finish: crate::store::Finish = Box::new(move |outcome| drop(reply.send(outcome)));
        if self.log.store().queues_writes() {
            self.log.store().transact(job, finish);
        } else {
            let log = self.log.for_worker();
            self.workers.run(Box::new(move || log.store().transact(job, finish)));
        }
        let log = self.clone();
        async move {
            done.await.unwrap_or_else(|_| Err(log.stopped()))?;
            log.log.count_write();
            made.lock().ok().and_then(|mut made| made.take()).ok_or_else(|| log.stopped())
        }
    }

    fn stopped(&self) -> LogError {
        let text = "the work ended without a result".to_owned();
        LogError::Database { name: self.log.url().to_owned(), text }
    }
}

impl From<Log> for AsyncLog {
    fn from(log: Log) -> Self {
        log.handle()
    }
}
