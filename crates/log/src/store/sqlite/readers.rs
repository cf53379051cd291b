//! The connections that read: at most so many at a time, opened when they are needed and used
//! again.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::handle::Handle;
use crate::error::{LogError, Result};

/// A bounded pool of connections.
pub(super) struct Readers {
    most: usize,
    wait: Duration,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Handle>,
    /// Connections that are in use.
    used: usize,
}

/// The right to use one connection; there is room for another one when it is dropped.
pub(super) struct Borrowed<'a> {
    readers: &'a Readers,
    pub(super) handle: Option<Handle>,
}

impl Readers {
    pub(super) fn new(most: usize, wait: Duration) -> Self {
        Self { most, wait, state: Mutex::default(), freed: Condvar::new() }
    }

    /// An idle connection or the right to open one, once there are fewer than the most in use.
    pub(super) fn borrow(&self, name: &str) -> Result<Borrowed<'_>> {
        let until = Instant::now() + self.wait;
        let mut state = self.lock();
        while state.used >= self.most {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return Err(LogError::Busy {
                    name: name.to_owned(),
                    connections: self.most,
                    wait: self.wait,
                });
            };
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.used += 1;
        let handle = state.idle.pop();
        Ok(Borrowed { readers: self, handle })
    }

    /// Adds a connection that was opened elsewhere.
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
    /// Gives the connection back for others to use. One that is not given back is closed.
    pub(super) fn give_back(mut self) {
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
