//! [`AsyncLog`]: a log for async programs. Callers await; the blocking work runs on a bounded pool
//! of threads that the log owns.
//!
//! The operations are those of [`Log`]: a closure receives it on a thread that may block. Work that
//! is queued runs to completion even if its future is dropped. The queue has a limit
//! ([`Options::queue`]); callers wait while it is full.

use std::fmt;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use waterline::phrase;

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::options::Options;
use crate::workers::{Permit, Workers};

/// A log for async programs. Cheap to clone; all clones share the worker threads.
///
/// ```no_run
/// # async fn example() -> waterline_log::Result<()> {
/// use waterline_log::{AsyncLog, Options};
///
/// let log = AsyncLog::open("sessions.db", &Options::default()).await?;
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
        write!(f, "AsyncLog({}, {} threads)", self.log.url(), self.workers.max_threads())
    }
}

impl Log {
    /// Returns a handle to this log for async code.
    #[must_use]
    pub fn handle(&self) -> AsyncLog {
        AsyncLog { workers: self.workers(), log: self.clone() }
    }
}

impl AsyncLog {
    /// Opens the log at a URL without blocking the caller's thread.
    ///
    /// # Errors
    /// Same as [`Log::open`].
    pub async fn open(url: &str, options: &Options) -> Result<Self> {
        let url = url.to_owned();
        let options = options.clone();
        let (reply, opened) = oneshot::channel();
        // Not on a pool, which would join this thread: a caller that cancels must not wait for a
        // server that does not answer.
        std::thread::spawn(move || drop(reply.send(Log::open_with(&url, &options))));
        let log = opened.await.map_err(|_| {
            LogError::refused(phrase!(
                "log-open-panicked",
                "the thread that opens the log panicked"
            ))
        })??;
        Ok(log.handle())
    }

    /// Returns the blocking log. Do not call it on a thread that runs async tasks.
    #[must_use]
    pub const fn blocking(&self) -> &Log {
        &self.log
    }

    /// Returns the current time of the log's clock, in milliseconds since 1970.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.log.now()
    }

    /// Waits for a place in the queue. Work that is queued with it starts without a further wait,
    /// so that the caller can prepare the work once it knows that it will run.
    ///
    /// # Errors
    /// If the log is closed.
    pub async fn permit(&self) -> Result<Permit> {
        self.workers.permit().await.ok_or_else(|| self.no_result())
    }

    /// Returns a place in the queue, if one is free.
    #[must_use]
    pub fn try_permit(&self) -> Option<Permit> {
        self.workers.try_permit()
    }

    /// Runs `work` on a worker thread. Each operation in it is a separate transaction.
    ///
    /// # Errors
    /// The error that `work` returns.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Log) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.permit().await?;
        let log = self.log.for_worker();
        let (reply, done) = oneshot::channel();
        self.workers.run(Box::new(move || {
            let outcome = work(&log);
            // Drop the log before replying: a caller that then drops its handle is the last owner.
            drop((log, permit));
            // The caller may have dropped the future. The work is done all the same.
            drop(reply.send(outcome));
        }));
        done.await.unwrap_or_else(|_| Err(self.no_result()))
    }

    /// Runs `work` on a worker thread without waiting for it.
    pub fn detach(&self, permit: Permit, work: impl FnOnce(&Log) + Send + 'static) {
        self.detach_now(move |log| {
            work(log);
            drop(permit);
        });
    }

    /// As [`AsyncLog::detach`], for work that a destructor leaves: it cannot wait for a place in
    /// the queue, so it does not count.
    pub fn detach_now(&self, work: impl FnOnce(&Log) + Send + 'static) {
        let log = self.log.for_worker();
        self.workers.run(Box::new(move || work(&log)));
    }

    /// Runs several operations in one transaction: either all of them are durable when the future
    /// completes, or none took effect. Concurrent writes share one flush. The work is queued before
    /// the future is first polled if the queue has a place, so the caller can do something else in
    /// the meantime. If not, a future that is dropped while it waits for a place leaves no work;
    /// [`AsyncLog::write_with`] avoids this.
    ///
    /// `work` runs again after a write conflict. It must use only the log that it receives.
    ///
    /// # Errors
    /// The error that `work` returns, or the one that prevented the commit.
    pub fn write<T, W>(&self, work: W) -> impl Future<Output = Result<T>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: Fn(&Log) -> Result<T> + Send + 'static,
    {
        let start = match self.try_permit() {
            Some(permit) => Ok(self.write_with(permit, work)),
            None => Err((self.clone(), work)),
        };
        async move {
            match start {
                Ok(queued) => queued.await,
                Err((log, work)) => log.write_with(log.permit().await?, work).await,
            }
        }
    }

    /// As [`AsyncLog::write`], with a place in the queue: the work is queued at once.
    pub fn write_with<T, W>(
        &self,
        permit: Permit,
        work: W,
    ) -> impl Future<Output = Result<T>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: Fn(&Log) -> Result<T> + Send + 'static,
    {
        let (reply, done) = oneshot::channel();
        let result = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&result);
        let clock = self.log.clock();
        let job: crate::store::Job = Box::new(move |store| {
            let outcome = work(&Log::inside(store, clock))?;
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(outcome);
            }
            Ok(())
        });
        let finish: crate::store::Finish = Box::new(move |outcome| {
            drop(permit);
            drop(reply.send(outcome));
        });
        if self.log.store().queues_writes() {
            self.log.store().transact(job, finish);
        } else {
            let log = self.log.for_worker();
            self.workers.run(Box::new(move || log.store().transact(job, finish)));
        }
        let log = self.clone();
        async move {
            done.await.unwrap_or_else(|_| Err(log.no_result()))?;
            log.log.count_write();
            result.lock().ok().and_then(|mut slot| slot.take()).ok_or_else(|| log.no_result())
        }
    }

    fn no_result(&self) -> LogError {
        let text = phrase!(
            "log-operation-dropped",
            "the operation panicked or was dropped before it finished"
        );
        LogError::Database { name: self.log.url().to_owned(), text }
    }
}

impl From<Log> for AsyncLog {
    fn from(log: Log) -> Self {
        log.handle()
    }
}
