//! The PostgreSQL store, for programs on many machines. Its tables are in a separate schema
//! (`?schema=NAME`, default `waterline`).
//!
//! The client blocks, and panics on a thread that runs async tasks, so callers use it on threads
//! that may block. Opening and dropping the store can happen on any thread, so these use a thread
//! of their own.

mod handle;
mod pooled;
mod server;
mod value;

use std::path::Path;
use std::time::Duration;

use handle::{Handle, cause, quoted, without_code};
use pooled::Pooled;
use postgres::Config;
use server::{Parameters, Server, name_of, split_parameters};

use waterline::phrase;

use super::transaction::Transaction;
use super::{Connection, Finish, Job, Store, Work, values};
use crate::error::{LogError, Result};
use crate::options::Options;
use waterline::phrase::Phrase;

/// The maximum number of attempts per write after write conflicts.
const ATTEMPTS: usize = 5;

/// The key of the advisory lock that writers share and an erasure holds exclusively.
const WRITE_LOCK: i32 = 0x7761_7465;

/// The functions that take the write lock.
const SHARED: &str = "pg_advisory_xact_lock_shared";
const EXCLUSIVE: &str = "pg_advisory_xact_lock";

/// A log on a server.
pub(super) struct Postgres {
    name: String,
    schema: String,
    /// `Some` until the store is dropped.
    pool: Option<r2d2::Pool<Server>>,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let pool = self.pool.take();
        // If the thread panics, the connections are closed all the same.
        drop(std::thread::spawn(move || drop(pool)).join());
    }
}

impl Postgres {
    pub(super) fn open(url: &str, options: &Options) -> Result<Self> {
        let wait = options.wait;
        let (url, parameters) = split_parameters(url);
        // Do not show a URL that cannot be parsed: it may contain a password.
        let invalid = |error: postgres::Error| LogError::Open {
            name: "postgres://…".to_owned(),
            text: cause(&error),
        };
        let mut config: Config = url.parse().map_err(invalid)?;
        let name = name_of(&config);
        config.connect_timeout(wait);
        config.tcp_user_timeout(wait.max(Duration::from_secs(30)));
        config.keepalives_idle(Duration::from_secs(30));
        if config.get_application_name().is_none() {
            config.application_name("waterline");
        }
        let Parameters { schema, roots } = parameters;
        let tls = super::tls::connector(roots.as_deref())?;
        let server = Server { name: name.clone(), config, tls, schema: schema.clone(), wait };
        // The first connection is made without the pool, whose errors say less.
        let first = std::thread::scope(|scope| {
            let first = scope.spawn(|| server.connect_without_schema()?.migrate(&schema));
            first.join()
        });
        first.map_err(|_| LogError::Open {
            name: name.clone(),
            text: phrase!("log-thread-panicked", "the connecting thread panicked"),
        })??;
        let max_size = u32::try_from(options.connections.get()).unwrap_or(u32::MAX);
        let builder =
            r2d2::Pool::builder().max_size(max_size).min_idle(Some(0)).connection_timeout(wait);
        let pool = builder
            .test_on_check_out(true)
            .error_handler(Box::new(r2d2::NopErrorHandler))
            .build_unchecked(server);
        Ok(Self { name, schema, pool: Some(pool) })
    }

    fn handle(&self) -> Result<Pooled> {
        let failed = |text: Phrase| LogError::Connection { name: self.name.clone(), text };
        let pool = self
            .pool
            .as_ref()
            .ok_or_else(|| failed(phrase!("log-closed", "the log was closed")))?;
        pool.get().map_err(|error| failed(without_code(&error.to_string()).into()))
    }
}

impl Store for Postgres {
    fn read(&self, work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>) -> Result<()> {
        let mut handle = self.handle()?;
        handle.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let outcome = handle.run_guarded(work);
        let ended = handle.batch("ROLLBACK");
        outcome.and(ended)
    }

    fn write(&self, work: Work) -> Result<()> {
        self.write_under(SHARED, &mut |handle| handle.run_guarded(&work))
    }

    fn write_alone(&self, work: Work) -> Result<()> {
        self.write_under(EXCLUSIVE, &mut |handle| handle.run_guarded(&work))
    }

    fn transact(&self, job: Job, finish: Finish) {
        finish(self.retry(|| self.try_job(&job)));
    }

    fn queues_writes(&self) -> bool {
        false
    }

    fn check(&self) -> Result<Vec<Phrase>> {
        // The server checks its own files; here we only check that the tables can be read.
        let mut handle = self.handle()?;
        (&mut *handle as &mut dyn Connection).number("SELECT COUNT(*) FROM format", &[])?;
        Ok(Vec::new())
    }

    fn shrink(&self) -> Result<()> {
        let mut handle = self.handle()?;
        let sql = "SELECT tablename FROM pg_tables WHERE schemaname = $1";
        let tables =
            (&mut *handle as &mut dyn Connection).rows(sql, values![self.schema.as_str()])?;
        for mut table in tables {
            handle.batch(&format!(
                "VACUUM FULL {}.{}",
                quoted(&self.schema),
                quoted(&table.text(0))
            ))?;
        }
        Ok(())
    }

    fn size(&self) -> Result<u64> {
        let mut handle = self.handle()?;
        let sql = "SELECT CAST(COALESCE(SUM(pg_total_relation_size(c.oid)), 0) AS BIGINT) \
                   FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                   WHERE n.nspname = $1 AND c.relkind = 'r'";
        let size =
            (&mut *handle as &mut dyn Connection).number(sql, values![self.schema.as_str()])?;
        Ok(u64::try_from(size).unwrap_or_default())
    }

    fn backup(&self, _: &Path) -> Result<bool> {
        Ok(false)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Postgres {
    fn write_under(
        &self,
        lock: &str,
        work: &mut dyn FnMut(&mut Handle) -> Result<()>,
    ) -> Result<()> {
        self.retry(|| {
            let mut handle = self.begin(lock)?;
            let outcome = work(&mut handle);
            end(&mut handle, outcome)
        })
    }

    /// Retries after write conflicts.
    fn retry(&self, mut write: impl FnMut() -> Result<()>) -> Result<()> {
        for _ in 1..ATTEMPTS {
            match write() {
                Err(LogError::WriteConflict { .. }) => {}
                outcome => return outcome,
            }
        }
        write()
    }

    fn try_job(&self, job: &Job) -> Result<()> {
        let mut handle = self.begin(SHARED)?;
        // A job that panics leaves a transaction open: the connection must not be reused.
        let before = std::mem::replace(&mut handle.broken, true);
        let (handle, outcome) = Transaction::run(handle, job);
        let mut handle =
            handle.ok_or_else(|| LogError::WriteConflict { name: self.name.clone() })?;
        handle.broken = before;
        end(&mut handle, outcome)
    }

    fn begin(&self, lock: &str) -> Result<Pooled> {
        let mut handle = self.handle()?;
        handle.batch(&format!("BEGIN; SELECT {lock}(hashtext(current_schema()), {WRITE_LOCK})"))?;
        Ok(handle)
    }
}

/// Commits, or rolls back after an error.
fn end(handle: &mut Handle, outcome: Result<()>) -> Result<()> {
    if outcome.is_ok() {
        return handle.batch("COMMIT");
    }
    // Report the first error. A connection that cannot roll back is closed.
    handle.broken |= handle.batch("ROLLBACK").is_err();
    outcome
}
