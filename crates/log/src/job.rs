//! Background jobs that survive crashes. A background summary is a job of its session: the process
//! that holds the session makes it, or the next one if that process ends first
//! (docs/decisions/0029).

use crate::error::Result;
use crate::log::Log;
use crate::store::{Connection, Row, values};

/// The kind of the jobs that summarize messages of a session in the background.
pub const SUMMARY_JOB: &str = "summary";

/// A background job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Job {
    /// The number of the job.
    pub key: i64,
    /// The kind of work, such as `summary`, `memory` or `embedding`.
    pub kind: String,
    /// The session that the job is for.
    pub session: Option<String>,
    /// The input for the worker.
    pub payload: String,
}

const COLUMNS: &str = "key, kind, session, payload";

/// The format reserves an attempt count, which these jobs do not use.
const ATTEMPTS: u64 = 5;

impl Log {
    /// Adds a job in place of all jobs of its kind that a session has, and returns its number.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn replace_jobs(&self, kind: &str, session: &str, payload: &str) -> Result<i64> {
        let kind = kind.to_owned();
        let session = session.to_owned();
        let payload = payload.to_owned();
        let now = self.now();
        self.write(move |connection| {
            crate::session::load(connection, &session)?;
            let sql = "DELETE FROM job WHERE session = $1 AND kind = $2";
            connection.run(sql, values![&session, &kind])?;
            insert(connection, &kind, Some(&session), &payload, now)
        })
    }

    /// Deletes a job, and returns whether it still existed. Of several processes that have done the
    /// work of a job, one gets `true`.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn claim_job(&self, key: i64) -> Result<bool> {
        self.write(move |connection| {
            Ok(connection.run("DELETE FROM job WHERE key = $1", values![key])? == 1)
        })
    }

    /// Returns the jobs of a session, or all jobs, oldest first.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn jobs(&self, session: Option<&str>) -> Result<Vec<Job>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM job \
                 WHERE (CAST($1 AS TEXT) IS NULL OR session = $1) ORDER BY key"
            );
            Ok(connection.rows(&sql, values![session])?.into_iter().map(of).collect())
        })
    }
}

pub(crate) fn insert(
    connection: &mut dyn Connection,
    kind: &str,
    session: Option<&str>,
    payload: &str,
    now: i64,
) -> Result<i64> {
    let sql = "INSERT INTO job (kind, session, payload, state, attempts, most, due, created) \
               VALUES ($1, $2, $3, 'waiting', 0, $4, $5, $5) RETURNING key";
    connection.number(sql, values![kind, session, payload, ATTEMPTS, now])
}

fn of(mut row: Row) -> Job {
    Job { key: row.int(0), kind: row.text(1), session: row.maybe_text(2), payload: row.text(3) }
}
