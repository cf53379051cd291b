//! The thread pool that runs the blocking work of an [`AsyncLog`](crate::AsyncLog). Threads start
//! on demand, at most one per connection of the log. Queued jobs always run, even if their caller
//! no longer waits. A caller that can wait gets a [`Permit`] first, which limits the queue.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

type Job = Box<dyn FnOnce() + Send>;

/// A place among the operations of a log that wait or run
/// ([`Options::queue`](crate::Options::queue)). Dropping it frees the place.
#[derive(Debug)]
#[must_use = "the place is free again when this is dropped"]
pub struct Permit(#[expect(dead_code, reason = "held until it is dropped")] OwnedSemaphorePermit);

/// A bounded thread pool with one queue.
pub(crate) struct Workers {
    queue: Arc<Queue>,
    permits: Arc<Semaphore>,
    max_threads: usize,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    idle: usize,
    closed: bool,
}

impl Workers {
    pub(crate) fn new(max_threads: NonZeroUsize, max_jobs: NonZeroUsize) -> Self {
        let max_jobs = max_jobs.get().min(Semaphore::MAX_PERMITS);
        Self {
            queue: Arc::default(),
            permits: Arc::new(Semaphore::new(max_jobs)),
            max_threads: max_threads.get(),
            threads: Mutex::default(),
        }
    }

    /// Waits for a place in the queue. Returns `None` once the pool is closed.
    pub(crate) async fn permit(&self) -> Option<Permit> {
        Arc::clone(&self.permits).acquire_owned().await.ok().map(Permit)
    }

    /// Returns a place in the queue, if one is free.
    pub(crate) fn try_permit(&self) -> Option<Permit> {
        Arc::clone(&self.permits).try_acquire_owned().ok().map(Permit)
    }

    pub(crate) const fn max_threads(&self) -> usize {
        self.max_threads
    }

    /// Queues a job. Starts another thread if all are busy and the limit allows it.
    pub(crate) fn run(&self, job: Job) {
        let mut state = lock(&self.queue.state);
        state.jobs.push_back(job);
        let enough = state.idle >= state.jobs.len();
        drop(state);
        self.queue.changed.notify_one();
        if !enough {
            self.start();
        }
    }

    fn start(&self) {
        let mut threads = lock(&self.threads);
        if threads.len() < self.max_threads {
            let queue = Arc::clone(&self.queue);
            threads.push(std::thread::spawn(move || queue.serve()));
        }
    }
}

impl Queue {
    fn serve(&self) {
        while let Some(job) = self.next() {
            // A job that panics drops its reply channel, so its caller gets an error. The thread
            // continues with the next job.
            drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)));
        }
    }

    /// Waits for the next job. Returns `None` once the pool is closed and the queue is empty.
    fn next(&self) -> Option<Job> {
        let mut state = lock(&self.state);
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

impl Drop for Workers {
    /// Waits until all queued jobs are done.
    fn drop(&mut self) {
        lock(&self.queue.state).closed = true;
        self.queue.changed.notify_all();
        let current = std::thread::current().id();
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // A job may drop the last handle: its thread must not join itself.
            if thread.thread().id() != current {
                drop(thread.join());
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Jobs run outside the lock, so a panic cannot leave the state inconsistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
