//! The PostgreSQL store, for programs on many machines. Its tables are in a separate schema
//! (`?schema=NAME`, default `waterline`).
//!
//! The client blocks, and panics on a thread that runs async tasks, so callers use it on threads
//! that may block. Opening and dropping the store can happen on any thread, so these use a thread
//! of their own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::migrate::migrate;
use super::transaction::Transaction;
use super::{Connection, Dialect, Finish, Job, Row, Store, Value, Work, values};
use crate::error::{LogError, Result};
use crate::options::Options;

/// The maximum number of attempts per write after write conflicts.
const ATTEMPTS: usize = 5;

/// The key of the advisory lock that a migration holds: an arbitrary number.
const MIGRATION_LOCK: i64 = 0x7761_7465_726c_696e;

/// The key of the advisory lock that writers share and an erasure holds exclusively.
const WRITE_LOCK: i32 = 0x7761_7465;

/// The functions that take the write lock.
const SHARED: &str = "pg_advisory_xact_lock_shared";
const EXCLUSIVE: &str = "pg_advisory_xact_lock";

type Pooled = r2d2::PooledConnection<Server>;

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

/// The connection parameters.
struct Server {
    name: String,
    config: Config,
    tls: MakeRustlsConnect,
    schema: String,
    wait: Duration,
}

/// A connection with its prepared statements.
struct Handle {
    client: Client,
    name: String,
    statements: HashMap<String, Statement>,
    /// Whether the connection must not be reused.
    broken: bool,
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
            text: "the connecting thread panicked".to_owned(),
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
        let failed = |text: String| LogError::Connection { name: self.name.clone(), text };
        let pool = self.pool.as_ref().ok_or_else(|| failed("the log was closed".to_owned()))?;
        pool.get().map_err(|error| failed(error.to_string()))
    }
}

/// Returns the URL of a server, without a password.
fn name_of(config: &Config) -> String {
    let host = config.get_hosts().first().map_or_else(String::new, |host| match host {
        postgres::config::Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        postgres::config::Host::Unix(path) => path.display().to_string(),
    });
    let port = config.get_ports().first().map(|port| format!(":{port}")).unwrap_or_default();
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    format!("postgres://{user}{host}{port}/{}", config.get_dbname().unwrap_or_default())
}

/// The URL parameters that the driver does not support.
struct Parameters {
    schema: String,
    roots: Option<PathBuf>,
}

fn split_parameters(url: &str) -> (String, Parameters) {
    let mut parameters = Parameters { schema: "waterline".to_owned(), roots: None };
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), parameters) };
    let mut rest = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("schema", schema)) => parameters.schema = schema.to_owned(),
            Some(("sslrootcert", path)) => parameters.roots = Some(PathBuf::from(path)),
            // Certificates are always verified, and the driver does not know these values.
            Some(("sslmode", "verify-full" | "verify-ca")) => rest.push("sslmode=require"),
            _ => rest.push(pair),
        }
    }
    let query = rest.join("&");
    (if query.is_empty() { base.to_owned() } else { format!("{base}?{query}") }, parameters)
}

fn quoted(schema: &str) -> String {
    format!("\"{}\"", schema.replace('"', "\"\""))
}

impl Server {
    /// Connects with a timeout. The driver's timeout covers the TCP connection but not the startup
    /// exchange, so a server that accepts and never answers would block forever. After a timeout,
    /// the connecting thread is abandoned.
    fn connect_with_timeout(&self) -> Result<std::result::Result<Client, postgres::Error>> {
        let config = self.config.clone();
        let tls = self.tls.clone();
        let (reply, answer) = std::sync::mpsc::sync_channel(1);
        std::thread::spawn(move || drop(reply.send(config.connect(tls))));
        answer.recv_timeout(self.wait).map_err(|_| LogError::Connection {
            name: self.name.clone(),
            text: format!("timed out after {:?}", self.wait),
        })
    }

    fn connect_without_schema(&self) -> Result<Handle> {
        let client = self.connect_with_timeout()?.map_err(|error| match error.as_db_error() {
            // The server refused the connection: wrong password, missing database.
            Some(_) => LogError::Open { name: self.name.clone(), text: cause(&error) },
            None => LogError::Connection { name: self.name.clone(), text: cause(&error) },
        })?;
        Ok(Handle { client, name: self.name.clone(), statements: HashMap::new(), broken: false })
    }
}

impl r2d2::ManageConnection for Server {
    type Connection = Handle;
    type Error = LogError;

    fn connect(&self) -> Result<Handle> {
        let mut handle = self.connect_without_schema()?;
        handle.batch(&format!("SET search_path TO {}", quoted(&self.schema)))?;
        Ok(handle)
    }

    fn is_valid(&self, handle: &mut Handle) -> Result<()> {
        handle.client.is_valid(Duration::from_secs(2)).map_err(|error| explain(&self.name, &error))
    }

    fn has_broken(&self, handle: &mut Handle) -> bool {
        handle.broken || handle.client.is_closed()
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

    fn check(&self) -> Result<Vec<String>> {
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
                Err(LogError::Race { .. }) => {}
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
        let mut handle = handle.ok_or_else(|| LogError::Race { name: self.name.clone() })?;
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

impl Handle {
    /// Runs `work`. If it panics, a transaction is left open and the connection stays marked as
    /// broken.
    fn run_guarded(
        &mut self,
        mut work: impl FnMut(&mut dyn Connection) -> Result<()>,
    ) -> Result<()> {
        let before = std::mem::replace(&mut self.broken, true);
        let outcome = work(self);
        // The pool notices a lost connection by itself.
        self.broken = before;
        outcome
    }

    fn failed(&mut self, error: &postgres::Error) -> LogError {
        self.broken |= error.is_closed() || error.as_db_error().is_none();
        explain(&self.name, error)
    }

    fn migrate(&mut self, schema: &str) -> Result<()> {
        let version = (self as &mut dyn Connection)
            .number("SELECT CAST(current_setting('server_version_num') AS BIGINT)", &[])?;
        if version < 150_000 {
            let text =
                format!("PostgreSQL {} is unsupported; version 15 is required", version / 10_000);
            return Err(LogError::Open { name: self.name.clone(), text });
        }
        self.batch("BEGIN")?;
        let outcome = self.migrate_locked(schema);
        self.batch(if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        outcome
    }

    fn migrate_locked(&mut self, schema: &str) -> Result<()> {
        let connection: &mut dyn Connection = self;
        connection.rows(
            "SELECT 1 FROM (SELECT pg_advisory_xact_lock($1)) held",
            values![MIGRATION_LOCK],
        )?;
        let known = connection
            .number("SELECT COUNT(*) FROM pg_namespace WHERE nspname = $1", values![schema])?;
        if known == 0 {
            self.batch(&format!("CREATE SCHEMA {}", quoted(schema)))?;
        }
        self.batch(&format!("SET search_path TO {}", quoted(schema)))?;
        let sql = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = $1 AND tablename = 'format'";
        let tables = (self as &mut dyn Connection).number(sql, values![schema])?;
        migrate(self, tables == 0)
    }

    fn prepared(&mut self, sql: &str) -> Result<Statement> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql).map_err(|error| self.failed(&error))?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Connection for Handle {
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64> {
        let statement = self.prepared(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let outcome = self.client.execute(&statement, &values);
        outcome.map_err(|error| self.failed(&error))
    }

    fn each(
        &mut self,
        sql: &str,
        values: &[Value],
        visit: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        let statement = self.prepared(sql)?;
        let columns = statement.columns().len();
        let name = self.name.clone();
        let failed = |error: postgres::Error| explain(&name, &error);
        let mut rows = self.client.query_raw(&statement, values.iter()).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let value = |at| row.try_get::<_, Value>(at).map_err(failed);
            visit(Row((0..columns).map(value).collect::<Result<_>>()?))?;
        }
        Ok(())
    }

    fn batch(&mut self, sql: &str) -> Result<()> {
        let outcome = self.client.batch_execute(sql);
        outcome.map_err(|error| self.failed(&error))
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Connection for Pooled {
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64> {
        (**self).run(sql, values)
    }

    fn each(
        &mut self,
        sql: &str,
        values: &[Value],
        visit: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        (**self).each(sql, values, visit)
    }

    fn batch(&mut self, sql: &str) -> Result<()> {
        (**self).batch(sql)
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn name(&self) -> &str {
        &self.name
    }
}

type Failure = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut postgres::types::private::BytesMut,
    ) -> std::result::Result<IsNull, Failure> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => number.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::TEXT | Type::BYTEA | Type::NAME)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> std::result::Result<Self, Failure> {
        match *kind {
            Type::INT8 => i64::from_sql(kind, raw).map(Self::Int),
            Type::INT4 => i32::from_sql(kind, raw).map(|number| Self::Int(number.into())),
            Type::BYTEA => Vec::from_sql(kind, raw).map(Self::Bytes),
            _ => String::from_sql(kind, raw).map(Self::Text),
        }
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Self, Failure> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::INT4 | Type::TEXT | Type::BYTEA | Type::NAME)
    }
}

/// Returns the innermost cause: the driver's own message is only "error connecting to server".
fn cause(error: &postgres::Error) -> String {
    let mut text = error.to_string();
    let mut inner = std::error::Error::source(error);
    while let Some(source) = inner {
        text = source.to_string();
        inner = source.source();
    }
    text
}

fn explain(name: &str, error: &postgres::Error) -> LogError {
    let name = name.to_owned();
    let text = cause(error);
    let Some(code) = error.code() else { return LogError::Connection { name, text } };
    match *code {
        SqlState::UNIQUE_VIOLATION
        | SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED => LogError::Race { name },
        SqlState::DISK_FULL => LogError::Full { name },
        SqlState::READ_ONLY_SQL_TRANSACTION => LogError::ReadOnly { name },
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => LogError::Damaged { name, text },
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
            LogError::Connection { name, text }
        }
        _ => LogError::Database { name, text },
    }
}
