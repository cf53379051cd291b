//! A queue of background jobs that survives crashes. A worker takes a job for a limited time; if it
//! dies, another worker takes the job. A failed job is retried up to [`ATTEMPTS`] times. A
//! background summary is a job of its session: the process that holds the session makes it, and the
//! next one does if that process ends before (docs/decisions/0029).

use std::time::Duration;

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::store::{Connection, Row, values};

/// The maximum number of attempts per job.
pub const ATTEMPTS: u64 = 5;

/// The kind of the jobs that summarize messages of a session in the background.
pub const SUMMARY_JOB: &str = "summary";

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobState {
    /// The job waits for a worker, or for the time of its next attempt.
    Waiting,
    /// A worker has taken the job.
    Running,
    /// The last attempt failed; there are no more retries.
    Failed,
}

/// A background job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The number of the job.
    pub key: i64,
    /// The kind of work, such as `summary`, `memory` or `embedding`.
    pub kind: String,
    /// The session that the job is for.
    pub session: Option<String>,
    /// The input for the worker.
    pub payload: String,
    /// The state of the job.
    pub stage: JobState,
    /// The number of attempts, including the current one.
    pub attempts: u64,
    /// The error of the last failed attempt.
    pub error: Option<String>,
}

const COLUMNS: &str = "key, kind, session, payload, state, attempts, error";

impl Log {
    /// Adds a job and returns its number.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn add_job(&self, kind: &str, session: Option<&str>, payload: &str) -> Result<i64> {
        let kind = kind.to_owned();
        let session = session.map(str::to_owned);
        let payload = payload.to_owned();
        let now = self.now();
        self.write(move |connection| {
            session.as_ref().map_or(Ok(()), |id| crate::session::load(connection, id).map(drop))?;
            insert(connection, &kind, session.as_deref(), &payload, now)
        })
    }

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

    /// Takes the oldest due job of a kind. After `lease`, another worker may take it.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn take_job(&self, kind: &str, worker: &str, lease: Duration) -> Result<Option<Job>> {
        let kind = kind.to_owned();
        let worker = worker.to_owned();
        let now = self.now();
        let until = now + i64::try_from(lease.as_millis()).unwrap_or(i64::MAX - now);
        self.write(move |connection| {
            // A job whose worker died in the last attempt has failed.
            let sql = "UPDATE job SET state = 'failed', error = 'its worker died' \
                       WHERE kind = $1 AND state = 'running' AND due <= $2 AND attempts >= most";
            connection.run(sql, values![&kind, now])?;
            // A job that was created later than now waits for a clock that was set back.
            let sql = format!(
                "UPDATE job SET state = 'running', attempts = attempts + 1, worker = $1, due = $2 \
                 WHERE key = (SELECT key FROM job WHERE kind = $3 \
                   AND (state IN ('waiting', 'running') AND due <= $4 \
                     OR state = 'waiting' AND created > $4) \
                   ORDER BY due, key LIMIT 1 {}) RETURNING {COLUMNS}",
                connection.dialect().skip_locked()
            );
            Ok(connection.row(&sql, values![&worker, until, &kind, now])?.map(of))
        })
    }

    /// Deletes a job that is done.
    ///
    /// # Errors
    /// If another worker has taken the job since; its work may then be done twice.
    pub fn finish_job(&self, job: &Job, worker: &str) -> Result<()> {
        let key = job.key;
        let worker = worker.to_owned();
        self.write(move |connection| {
            let sql = "DELETE FROM job WHERE key = $1 AND worker = $2 AND state = 'running'";
            match connection.run(sql, values![key, &worker])? {
                1 => Ok(()),
                _ => Err(taken(key)),
            }
        })
    }

    /// Records that a job failed, and returns its new state. The job is retried after `wait` unless
    /// it has used all its attempts.
    ///
    /// # Errors
    /// If another worker has taken the job since.
    pub fn fail_job(
        &self,
        job: &Job,
        worker: &str,
        error: &str,
        wait: Duration,
    ) -> Result<JobState> {
        let key = job.key;
        let worker = worker.to_owned();
        let error = error.to_owned();
        let now = self.now();
        let due = now + i64::try_from(wait.as_millis()).unwrap_or(i64::MAX - now);
        self.write(move |connection| {
            let sql = format!(
                "UPDATE job SET state = CASE WHEN attempts >= most THEN 'failed' \
                 ELSE 'waiting' END, error = $1, due = $2 \
                 WHERE key = $3 AND worker = $4 AND state = 'running' RETURNING {COLUMNS}"
            );
            let row = connection.row(&sql, values![&error, due, key, &worker])?;
            let job = row.map(of).ok_or_else(|| taken(key))?;
            Ok(job.stage)
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

fn taken(key: i64) -> LogError {
    LogError::Refused(format!("job {key} has been taken by another worker").into())
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
    let stage = match row.text(4).as_str() {
        "running" => JobState::Running,
        "failed" => JobState::Failed,
        _ => JobState::Waiting,
    };
    Job {
        key: row.int(0),
        kind: row.text(1),
        session: row.maybe_text(2),
        payload: row.text(3),
        stage,
        attempts: row.count(5),
        error: row.maybe_text(6),
    }
}
