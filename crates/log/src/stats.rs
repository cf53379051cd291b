//! How much there is.

use crate::error::Result;
use crate::log::Log;
use crate::store::{Connection, values};

/// How much there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sessions.
    pub sessions: u64,
    /// Users who have any.
    pub users: u64,
    /// Messages in the tree.
    pub messages: u64,
    /// Different ones among them.
    pub contents: u64,
    /// Ways in the tree: the first one, and one for each fork that went on.
    pub branches: u64,
    /// Bytes of all messages in the tree, as they came.
    pub message_bytes: u64,
    /// Bytes of the different ones, as they are stored.
    pub stored_bytes: u64,
    /// Bytes of the whole database.
    pub database_bytes: u64,
    /// Tokens of all messages in the tree.
    pub tokens: u64,
    /// Folds.
    pub generations: u64,
    /// Summaries.
    pub summaries: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Artifacts.
    pub artifacts: u64,
    /// Bytes of the artifacts, as they came.
    pub artifact_bytes: u64,
    /// Model calls.
    pub calls: u64,
    /// Tokens of their prompts: paid in full, read from the cache, written to it.
    pub prompt: [u64; 3],
    /// Tokens of their answers.
    pub output: u64,
    /// Their price in millionths, as far as it is known.
    pub price: u64,
    /// Jobs that wait or run.
    pub jobs: u64,
    /// Jobs that failed.
    pub failed_jobs: u64,
}

impl Log {
    /// How much there is.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn stats(&self) -> Result<Stats> {
        let database_bytes = self.store().size()?;
        self.read(|connection| {
            let mut stats = Stats { database_bytes, ..count(connection)? };
            let sql = "SELECT CAST(COALESCE(SUM(c.size), 0) AS BIGINT), CAST(COALESCE(SUM(c.tokens), 0) AS BIGINT) \
                       FROM message m JOIN content c ON c.key = m.content";
            if let Some(row) = connection.row(sql, &[])? {
                (stats.message_bytes, stats.tokens) = (row.count(0), row.count(1));
            }
            let sql = "SELECT CAST(COALESCE(SUM(input), 0) AS BIGINT), CAST(COALESCE(SUM(cache_read), 0) AS BIGINT), \
                       CAST(COALESCE(SUM(cache_write), 0) AS BIGINT), CAST(COALESCE(SUM(output), 0) AS BIGINT), \
                       CAST(COALESCE(SUM(price), 0) AS BIGINT) FROM usage";
            if let Some(row) = connection.row(sql, &[])? {
                stats.prompt = [row.count(0), row.count(1), row.count(2)];
                (stats.output, stats.price) = (row.count(3), row.count(4));
            }
            Ok(stats)
        })
    }
}

fn count(connection: &mut dyn Connection) -> Result<Stats> {
    let mut number =
        |sql: &str| connection.number(sql, values![]).map(|n| u64::try_from(n).unwrap_or_default());
    Ok(Stats {
        sessions: number("SELECT COUNT(*) FROM session")?,
        users: number("SELECT COUNT(DISTINCT user_id) FROM session")?,
        messages: number("SELECT COUNT(*) FROM message")?,
        contents: number("SELECT COUNT(*) FROM content")?,
        branches: number("SELECT COUNT(*) FROM branch")?,
        stored_bytes: number(
            "SELECT CAST(COALESCE(SUM(LENGTH(bytes)), 0) AS BIGINT) FROM content",
        )?,
        generations: number("SELECT COUNT(*) FROM generation WHERE number > 0")?,
        summaries: number("SELECT COUNT(*) FROM summary")?,
        checkpoints: number("SELECT COUNT(*) FROM checkpoint")?,
        artifacts: number("SELECT COUNT(*) FROM artifact")?,
        artifact_bytes: number("SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM artifact")?,
        calls: number("SELECT COUNT(*) FROM usage")?,
        jobs: number("SELECT COUNT(*) FROM job WHERE state <> 'failed'")?,
        failed_jobs: number("SELECT COUNT(*) FROM job WHERE state = 'failed'")?,
        ..Stats::default()
    })
}
