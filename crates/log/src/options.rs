//! Options for opening a log: clock, timeout, the limits of connections and of waiting work, and
//! cache size.

use std::num::NonZeroUsize;
use std::time::{Duration, SystemTime};

/// Options for [`Log::open_with`](crate::Log::open_with).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How long to wait for another process's lock, a free connection, or the server. Default: ten
    /// seconds.
    pub wait: Duration,
    /// The clock, in milliseconds since 1970. Default: the system clock.
    pub clock: fn() -> i64,
    /// The connection limit. On SQLite it counts readers (one more connection writes), on
    /// PostgreSQL all connections. An [`AsyncLog`](crate::AsyncLog) has the same number of worker
    /// threads. Default: 8.
    pub connections: NonZeroUsize,
    /// Maximum number of operations of an [`AsyncLog`](crate::AsyncLog) that are waiting or
    /// running. Further callers wait until one is done, so that a slow disk does not fill the
    /// memory with queued work. Default: 1,024.
    pub queue: NonZeroUsize,
    /// The page cache of each SQLite connection, in KiB. Default: 4,096.
    pub cache: u32,
    /// Whether to open a SQLite log for reading although the number of its format is damaged. Its
    /// tables must be those of the newest format. [`Log::verify`](crate::Log::verify) and
    /// [`Log::export`](crate::Log::export) report the damage. Default: no.
    pub salvage: bool,
}

const CONNECTIONS: NonZeroUsize = NonZeroUsize::new(8).unwrap();
const QUEUE: NonZeroUsize = NonZeroUsize::new(1_024).unwrap();

impl Default for Options {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(10),
            clock: system_clock,
            connections: CONNECTIONS,
            queue: QUEUE,
            cache: 4 * 1024,
            salvage: false,
        }
    }
}

impl Options {
    /// Sets [`wait`](Self::wait).
    #[must_use]
    pub const fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Sets [`clock`](Self::clock).
    #[must_use]
    pub const fn with_clock(mut self, clock: fn() -> i64) -> Self {
        self.clock = clock;
        self
    }

    /// Sets [`connections`](Self::connections).
    #[must_use]
    pub const fn with_connections(mut self, connections: NonZeroUsize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets [`queue`](Self::queue).
    #[must_use]
    pub const fn with_queue(mut self, operations: NonZeroUsize) -> Self {
        self.queue = operations;
        self
    }

    /// Sets [`cache`](Self::cache).
    #[must_use]
    pub const fn with_cache(mut self, cache: u32) -> Self {
        self.cache = cache;
        self
    }

    /// Sets [`salvage`](Self::salvage).
    #[must_use]
    pub const fn with_salvage(mut self, salvage: bool) -> Self {
        self.salvage = salvage;
        self
    }
}

fn system_clock() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
