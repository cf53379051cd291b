//! A bounded pool of read connections, opened on demand and reused.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::handle::Handle;
use crate::error::{LogError, Result};

pub(super) struct Readers {
    max_connections: usize,
    wait: Duration,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Handle>,
    /// Number of connections in use.
    used: usize,
}

/// A permit to use one connection. Dropping it frees the permit for others.
pub(super) struct Borrowed<'a> {
    readers: &'a Readers,
    pub(super) handle: Option<Handle>,
}

impl Readers {
    pub(super) fn new(max_connections: usize, wait: Duration) -> Self {
        Self { max_connections, wait, state: Mutex::default(), freed: Condvar::new() }
    }

    /// Waits for a permit. It contains an idle connection if there is one; otherwise the caller
    /// opens one.
    pub(super) fn borrow(&self, name: &str) -> Result<Borrowed<'_>> {
        let deadline = Instant::now() + self.wait;
        let mut state = self.lock();
        while state.used >= self.max_connections {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                return Err(LogError::Busy {
                    name: name.to_owned(),
                    connections: self.max_connections,
                    wait: self.wait,
                });
            };
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.used += 1;
        let handle = state.idle.pop();
        Ok(Borrowed { readers: self, handle })
    }

    /// Adds an idle connection.
    pub(super) fn add(&self, handle: Handle) {
        self.lock().idle.push(handle);
    }

    /// Closes the idle connections.
    pub(super) fn clear(&self) {
        self.lock().idle.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Borrowed<'_> {
    /// Returns the connection to the pool. Without this call, dropping the permit closes it.
    pub(super) fn return_to_pool(mut self) {
        if let Some(handle) = self.handle.take() {
            self.readers.add(handle);
        }
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.readers.lock().used -= 1;
        self.readers.freed.notify_one();
    }
}
