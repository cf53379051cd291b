//! How a log is opened: its clock, how long it waits, and how many connections it may hold.

use std::num::NonZeroUsize;
use std::time::{Duration, SystemTime};

/// How a log is opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How long to wait for another process's lock, or for a free connection.
    pub wait: Duration,
    /// The clock: milliseconds since 1970.
    pub clock: fn() -> i64,
    /// The most connections at a time: of SQLite, those that read (one more writes); of PostgreSQL,
    /// all of them. An [`AsyncLog`](crate::AsyncLog) has as many worker threads.
    pub connections: NonZeroUsize,
    /// The page cache of one SQLite connection, in KiB.
    pub cache: u32,
}

const CONNECTIONS: NonZeroUsize = NonZeroUsize::new(8).unwrap();

impl Default for Options {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(10),
            clock: system_clock,
            connections: CONNECTIONS,
            cache: 4 * 1024,
        }
    }
}

impl Options {
    /// The same with another waiting time.
    #[must_use]
    pub const fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// The same with another clock.
    #[must_use]
    pub const fn with_clock(mut self, clock: fn() -> i64) -> Self {
        self.clock = clock;
        self
    }

    /// The same with another limit on connections.
    #[must_use]
    pub const fn with_connections(mut self, connections: NonZeroUsize) -> Self {
        self.connections = connections;
        self
    }

    /// The same with another page cache for each SQLite connection, in KiB.
    #[must_use]
    pub const fn with_cache(mut self, cache: u32) -> Self {
        self.cache = cache;
        self
    }
}

fn system_clock() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
