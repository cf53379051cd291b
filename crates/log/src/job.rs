//! Background work that survives a crash: a job is taken by one worker, for a time; a worker that
//! dies loses it to the next one. A job that fails is tried again later, so many times. Nothing in
//! the product adds jobs yet: background summaries will be the first (docs/decisions/0011).

use std::time::Duration;

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::store::{Connection, Row, values};

/// How often a job is tried.
pub const ATTEMPTS: u64 = 5;

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits for a worker, or for its time.
    Waiting,
    /// A worker has it.
    Running,
    /// It failed too often.
    Failed,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its number.
    pub key: i64,
    /// What kind of work it is: `summary`, `memory`, `embedding`.
    pub kind: String,
    /// The session it is for.
    pub session: Option<String>,
    /// What the worker needs to know.
    pub payload: String,
    /// How far it has come.
    pub stage: JobState,
    /// How often it was tried, with this time.
    pub attempts: u64,
    /// Why it failed last.
    pub error: Option<String>,
}

const COLUMNS: &str = "key, kind, session, payload, state, attempts, error";

impl Log {
    /// Adds a job.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn add_job(&self, kind: &str, session: Option<&str>, payload: &str) -> Result<i64> {
        let (kind, session, payload, now) =
            (kind.to_owned(), session.map(str::to_owned), payload.to_owned(), self.now());
        self.write(move |connection| {
            session.as_ref().map_or(Ok(()), |id| crate::session::load(connection, id).map(drop))?;
            insert(connection, &kind, session.as_deref(), &payload, now)
        })
    }

    /// Takes the oldest job of a kind that is due. The worker has it for `lease`; then it is
    /// another's.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn take_job(&self, kind: &str, worker: &str, lease: Duration) -> Result<Option<Job>> {
        let (kind, worker, now) = (kind.to_owned(), worker.to_owned(), self.now());
        let until = now + i64::try_from(lease.as_millis()).unwrap_or(i64::MAX - now);
        self.write(move |connection| {
            // Whoever died with its last try is not given another one.
            let sql = "UPDATE job SET state = 'failed', error = 'its worker died' \
                       WHERE kind = $1 AND state = 'running' AND due <= $2 AND attempts >= most";
            connection.run(sql, values![&kind, now])?;
            let sql = format!(
                "UPDATE job SET state = 'running', attempts = attempts + 1, worker = $1, due = $2 WHERE key = (\
                   SELECT key FROM job WHERE kind = $3 AND state IN ('waiting', 'running') AND due <= $4 \
                   ORDER BY due, key LIMIT 1 {}) RETURNING {COLUMNS}",
                connection.dialect().skip_locked()
            );
            Ok(connection.row(&sql, values![&worker, until, &kind, now])?.map(of))
        })
    }

    /// A job is done; nothing of it is kept.
    ///
    /// # Errors
    /// When another worker has it by now: then what this one did may be done twice.
    pub fn finish_job(&self, job: &Job, worker: &str) -> Result<()> {
        let (key, worker) = (job.key, worker.to_owned());
        self.write(move |connection| {
            let sql = "DELETE FROM job WHERE key = $1 AND worker = $2 AND state = 'running'";
            match connection.run(sql, values![key, &worker])? {
                1 => Ok(()),
                _ => Err(LogError::Refused(format!("job {key} is no longer this worker's"))),
            }
        })
    }

    /// A job failed; it is tried again after `wait`, unless it was tried often enough.
    ///
    /// # Errors
    /// When another worker has it by now.
    pub fn fail_job(
        &self,
        job: &Job,
        worker: &str,
        error: &str,
        wait: Duration,
    ) -> Result<JobState> {
        let (key, worker, error, now) = (job.key, worker.to_owned(), error.to_owned(), self.now());
        let due = now + i64::try_from(wait.as_millis()).unwrap_or(i64::MAX - now);
        self.write(move |connection| {
            let sql = format!(
                "UPDATE job SET state = CASE WHEN attempts >= most THEN 'failed' ELSE 'waiting' END, error = $1, due = $2 \
                 WHERE key = $3 AND worker = $4 AND state = 'running' RETURNING {COLUMNS}"
            );
            let row = connection.row(&sql, values![&error, due, key, &worker])?;
            let job = row.map(of).ok_or_else(|| LogError::Refused(format!("job {key} is no longer this worker's")))?;
            Ok(job.stage)
        })
    }

    /// The jobs of a session, or all, oldest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn jobs(&self, session: Option<&str>) -> Result<Vec<Job>> {
        self.read(|connection| {
            let sql =
                format!("SELECT {COLUMNS} FROM job WHERE (CAST($1 AS TEXT) IS NULL OR session = $1) ORDER BY key");
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
