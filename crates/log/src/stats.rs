//! Statistics about a log.

use waterline::message::Role;

use crate::artifact::{FILE_CHANGES, FILE_CONTENT};
use crate::encoding::role_code;
use crate::error::Result;
use crate::log::Log;
use crate::store::{Connection, values};

/// Statistics about a log, returned by [`Log::stats`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Number of sessions.
    pub sessions: u64,
    /// Number of users with sessions.
    pub users: u64,
    /// Number of messages in the tree.
    pub messages: u64,
    /// Number of system prompts among the messages.
    pub prompts: u64,
    /// Number of distinct message contents; each is stored once.
    pub contents: u64,
    /// Number of branches in the tree: a fork adds one when messages are appended to it.
    pub branches: u64,
    /// Bytes of all messages in the tree, as received.
    pub message_bytes: u64,
    /// Bytes of the distinct contents, as stored.
    pub stored_bytes: u64,
    /// Size of the database.
    pub database_bytes: u64,
    /// Tokens of all messages in the tree.
    pub tokens: u64,
    /// Number of folds.
    pub generations: u64,
    /// Number of summaries.
    pub summaries: u64,
    /// Number of checkpoints.
    pub checkpoints: u64,
    /// Number of artifacts.
    pub artifacts: u64,
    /// Bytes of the artifacts, before compression.
    pub artifact_bytes: u64,
    /// Number of stored versions of files that sessions changed.
    pub file_versions: u64,
    /// Bytes of the file versions, before compression.
    pub file_version_bytes: u64,
    /// Number of model calls.
    pub calls: u64,
    /// Prompt tokens of the calls: uncached, read from the cache, written to the cache.
    pub prompt: [u64; 3],
    /// Output tokens of the calls.
    pub output: u64,
    /// Total price of the calls with a known price, in millionths of the currency unit.
    pub price: u64,
    /// Number of waiting and running jobs.
    pub jobs: u64,
    /// Number of failed jobs.
    pub failed_jobs: u64,
}

impl Log {
    /// Returns statistics about the whole log. Reads all of it.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn stats(&self) -> Result<Stats> {
        let database_bytes = self.store().size()?;
        self.read(|connection| {
            let mut stats = Stats { database_bytes, ..count(connection)? };
            let sql = "SELECT CAST(COALESCE(SUM(c.size), 0) AS BIGINT), \
                       CAST(COALESCE(SUM(c.tokens), 0) AS BIGINT) \
                       FROM message m JOIN content c ON c.key = m.content";
            if let Some(row) = connection.row(sql, &[])? {
                stats.message_bytes = row.count(0);
                stats.tokens = row.count(1);
            }
            let sql = "SELECT CAST(COALESCE(SUM(input), 0) AS BIGINT), \
                       CAST(COALESCE(SUM(cache_read), 0) AS BIGINT), \
                       CAST(COALESCE(SUM(cache_write), 0) AS BIGINT), \
                       CAST(COALESCE(SUM(output), 0) AS BIGINT), \
                       CAST(COALESCE(SUM(price), 0) AS BIGINT) FROM usage";
            if let Some(row) = connection.row(sql, &[])? {
                stats.prompt = [row.count(0), row.count(1), row.count(2)];
                stats.output = row.count(3);
                stats.price = row.count(4);
            }
            Ok(stats)
        })
    }
}

/// The total size of rows.
const SIZE: &str = "CAST(COALESCE(SUM(size), 0) AS BIGINT)";

/// Returns a query over the artifacts whose media type is, or is not, one of these.
fn of_artifacts(what: &str, relation: &str, media: &[&str]) -> String {
    format!("SELECT {what} FROM artifact WHERE media {relation} ('{}')", media.join("', '"))
}

fn count(connection: &mut dyn Connection) -> Result<Stats> {
    let mut number =
        |sql: &str| connection.number(sql, values![]).map(|n| u64::try_from(n).unwrap_or_default());
    Ok(Stats {
        sessions: number("SELECT COUNT(*) FROM session")?,
        users: number("SELECT COUNT(DISTINCT user_id) FROM session")?,
        messages: number("SELECT COUNT(*) FROM message")?,
        prompts: number(&format!(
            "SELECT COUNT(*) FROM message m JOIN content c ON c.key = m.content WHERE c.role = {}",
            role_code(Role::System)
        ))?,
        contents: number("SELECT COUNT(*) FROM content")?,
        branches: number("SELECT COUNT(*) FROM branch")?,
        stored_bytes: number(
            "SELECT CAST(COALESCE(SUM(LENGTH(bytes)), 0) AS BIGINT) FROM content",
        )?,
        generations: number("SELECT COUNT(*) FROM generation WHERE number > 0")?,
        summaries: number("SELECT COUNT(*) FROM summary")?,
        checkpoints: number("SELECT COUNT(*) FROM checkpoint")?,
        artifacts: number(&of_artifacts("COUNT(*)", "NOT IN", &[FILE_CONTENT, FILE_CHANGES]))?,
        artifact_bytes: number(&of_artifacts(SIZE, "NOT IN", &[FILE_CONTENT, FILE_CHANGES]))?,
        file_versions: number(&of_artifacts("COUNT(*)", "IN", &[FILE_CONTENT]))?,
        file_version_bytes: number(&of_artifacts(SIZE, "IN", &[FILE_CONTENT]))?,
        calls: number("SELECT COUNT(*) FROM usage")?,
        jobs: number("SELECT COUNT(*) FROM job WHERE state <> 'failed'")?,
        failed_jobs: number("SELECT COUNT(*) FROM job WHERE state = 'failed'")?,
        ..Stats::default()
    })
}
