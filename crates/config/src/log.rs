//! The `[log]` section: what the program may use for the log.

use std::num::NonZeroUsize;

use serde::Deserialize;
use waterline_log::Options;

use crate::error::{ConfigError, whole_up_to};

/// The largest values: `connections`, `queue` and `cache`.
const MAX_CONNECTIONS: usize = 1_000;
const MAX_QUEUE: usize = 1_000_000;
const MAX_CACHE: u32 = 1_048_576;

/// What the program may use for the log. The defaults suit one user; a server for many needs more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct LogSettings {
    /// Connections to PostgreSQL; with SQLite, threads that read at the same time.
    pub connections: Option<usize>,
    /// Maximum number of operations that are queued or running. Further callers wait.
    pub queue: Option<usize>,
    /// Page cache of each SQLite connection, in KiB.
    pub cache: Option<u32>,
}

impl LogSettings {
    /// Returns these settings overridden by newer ones.
    pub(crate) fn merge(self, newer: Self) -> Self {
        Self {
            connections: newer.connections.or(self.connections),
            queue: newer.queue.or(self.queue),
            cache: newer.cache.or(self.cache),
        }
    }

    /// Rejects values out of range.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let cache = self.cache.map(u64::from);
        let count = |count: Option<usize>| count.map(|count| count as u64);
        for (key, value, most) in [
            ("connections", count(self.connections), MAX_CONNECTIONS as u64),
            ("queue", count(self.queue), MAX_QUEUE as u64),
            ("cache", cache, u64::from(MAX_CACHE)),
        ] {
            if let Some(value) = value.filter(|value| !(1..=most).contains(value)) {
                return Err(ConfigError::range(format!("log.{key}"), value, whole_up_to(most)));
            }
        }
        Ok(())
    }

    /// Returns the options to open the log with.
    #[must_use]
    pub fn options(&self) -> Options {
        let usual = Options::default();
        let or = |given: Option<usize>, usual| given.and_then(NonZeroUsize::new).unwrap_or(usual);
        usual
            .clone()
            .with_connections(or(self.connections, usual.connections))
            .with_queue(or(self.queue, usual.queue))
            .with_cache(self.cache.unwrap_or(usual.cache))
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::Settings;

    #[test]
    fn the_log_is_opened_as_the_config_says() {
        let older = Settings::parse("[log]\nconnections = 16\ncache = 1024").unwrap();
        let newer = Settings::parse("[log]\nconnections = 32").unwrap();
        let options = older.merge(newer).log.options();
        assert_eq!((options.connections.get(), options.cache), (32, 1024));
        assert_eq!(options.queue, waterline_log::Options::default().queue);
        let error = Settings::parse("[log]\nqueue = 0").unwrap_err().to_string();
        assert_eq!(error, "log.queue is 0; it must be a whole number from 1 to 1000000");
    }

    #[test]
    fn a_project_may_not_set_it() {
        let project = Settings::parse("[log]\ncache = 1").unwrap().into_project();
        let error = project.unwrap_err().to_string();
        assert!(error.contains("waterline.toml sets log"), "{error}");
    }
}
