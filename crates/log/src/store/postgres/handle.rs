//! A connection to PostgreSQL: statements, migration and the mapping of errors.

use std::collections::HashMap;

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::ToSql;
use postgres::{Client, Statement};

use waterline::phrase::Phrase;

use crate::error::{LogError, Result};
use crate::store::migrate::migrate;
use crate::store::{Connection, Dialect, Row, Value, values};
use waterline::phrase;

/// The key of the advisory lock that a migration holds: an arbitrary number.
const MIGRATION_LOCK: i64 = 0x7761_7465_726c_696e;

/// A connection with its prepared statements.
pub(super) struct Handle {
    pub(super) client: Client,
    pub(super) name: String,
    pub(super) statements: HashMap<String, Statement>,
    /// Whether the connection must not be reused.
    pub(super) broken: bool,
}

impl Handle {
    /// Runs `work`. If it panics, a transaction is left open and the connection stays marked as
    /// broken.
    pub(super) fn run_guarded(
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

    pub(super) fn migrate(&mut self, schema: &str) -> Result<()> {
        let version = (self as &mut dyn Connection)
            .number("SELECT CAST(current_setting('server_version_num') AS BIGINT)", &[])?;
        if version < 150_000 {
            let text = phrase!(
                "log-old-server",
                "PostgreSQL {version} is unsupported; version 15 is required",
                version = (version / 10_000).to_string()
            );
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

pub(super) fn quoted(schema: &str) -> String {
    format!("\"{}\"", schema.replace('"', "\"\""))
}

/// Returns the innermost cause: the driver's own message is only "error connecting to server".
pub(super) fn cause(error: &postgres::Error) -> Phrase {
    let mut text = error.to_string();
    let mut inner = std::error::Error::source(error);
    while let Some(source) = inner {
        text = source.to_string();
        inner = source.source();
    }
    without_code(&text).into()
}

/// Removes the system's number of an error, which says nothing to a person.
pub(super) fn without_code(text: &str) -> &str {
    text.split(" (os error ").next().unwrap_or(text)
}

pub(super) fn explain(name: &str, error: &postgres::Error) -> LogError {
    let name = name.to_owned();
    let text = cause(error);
    let Some(code) = error.code() else { return LogError::Connection { name, text } };
    match *code {
        SqlState::UNIQUE_VIOLATION
        | SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED => LogError::WriteConflict { name },
        SqlState::DISK_FULL => LogError::DiskFull { name },
        SqlState::READ_ONLY_SQL_TRANSACTION => LogError::ReadOnly { name },
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => LogError::Damaged { name, text },
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
            LogError::Connection { name, text }
        }
        _ => LogError::Database { name, text },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_system_error_is_not_shown() {
        assert_eq!(without_code("Connection refused (os error 111)"), "Connection refused");
        assert_eq!(without_code("no such host"), "no such host");
    }
}
