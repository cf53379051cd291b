//! The threads on which an [`AsyncLog`](crate::AsyncLog) does its blocking work: at most as many as
//! the log has connections, started when they are needed. Work that was queued is done, whether or
//! not its caller still waits.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

type Job = Box<dyn FnOnce() + Send>;

/// A bounded pool of threads with one queue.
pub(crate) struct Workers {
    queue: Arc<Queue>,
    most: usize,
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
    pub(crate) fn new(most: NonZeroUsize) -> Self {
        Self { queue: Arc::default(), most: most.get(), threads: Mutex::default() }
    }

    /// How many threads there are at most.
    pub(crate) const fn most(&self) -> usize {
        self.most
    }

    /// Queues a job, and starts a thread for it if all are busy and one more is allowed.
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
        if threads.len() < self.most {
            let queue = Arc::clone(&self.queue);
            threads.push(std::thread::spawn(move || queue.serve()));
        }
    }
}

impl Queue {
    fn serve(&self) {
        while let Some(job) = self.next() {
            // A job that panics drops its reply: its caller is told, and the thread serves the next
            // one.
            drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)));
        }
    }

    /// The next job; none when the pool is closed and everything is done.
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
    /// Waits until everything that was queued is done.
    fn drop(&mut self) {
        lock(&self.queue.state).closed = true;
        self.queue.changed.notify_all();
        let current = std::thread::current().id();
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // The last handle may be dropped by a job: that thread cannot wait for itself.
            if thread.thread().id() != current {
                drop(thread.join());
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Jobs run outside the lock, so a panic cannot leave the state half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
