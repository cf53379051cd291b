//! A connection to SQLite: statements, transactions and the mapping of errors.

use std::path::Path;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, ToSql};

use waterline::phrase::Phrase;

use crate::error::{LogError, Result};
use crate::store::{Connection, Dialect, Row, Value, checksum};

pub(super) struct Handle {
    pub(super) connection: rusqlite::Connection,
    pub(super) name: String,
}

impl Handle {
    /// Returns whether SQLite has rolled back the transaction by itself.
    pub(super) fn is_rolled_back(&self) -> bool {
        self.connection.is_autocommit()
    }

    /// Commits or rolls back the transaction. A failed commit is rolled back.
    pub(super) fn end(&mut self, commit: bool) -> Result<()> {
        if commit {
            let committed = self.connection.execute_batch("COMMIT");
            return committed.map_err(|error| {
                let error = explain(&self.name, &error);
                drop(self.connection.execute_batch("ROLLBACK"));
                error
            });
        }
        if self.connection.is_autocommit() { Ok(()) } else { self.batch("ROLLBACK") }
    }

    /// Ends the savepoint of one write in a group. A failed write is rolled back without the
    /// others.
    pub(super) fn end_savepoint(&mut self, outcome: Result<()>) -> Result<()> {
        let Err(error) = outcome else { return self.batch("RELEASE alone") };
        // If that fails, roll back the whole group.
        if self.connection.execute_batch("ROLLBACK TO alone; RELEASE alone").is_err() {
            drop(self.end(false));
        }
        Err(error)
    }

    pub(super) fn copy_into(&self, path: &Path) -> Result<()> {
        let text = path.display().to_string();
        self.connection.execute("VACUUM INTO ?1", [text]).map(drop).map_err(|error| {
            match explain(&self.name, &error) {
                LogError::DiskFull { .. } => {
                    LogError::DiskFull { name: path.display().to_string() }
                }
                LogError::Database { text, .. } | LogError::Open { text, .. } => {
                    LogError::Open { name: path.display().to_string(), text }
                }
                other => other,
            }
        })
    }
}

impl Connection for Handle {
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64> {
        let failed = |error| explain(&self.name, &error);
        let mut statement = self.connection.prepare_cached(&numbered(sql)).map_err(failed)?;
        let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        if statement.column_count() > 0 {
            let mut rows = statement.query(values.as_slice()).map_err(failed)?;
            let mut count = 0;
            while rows.next().map_err(failed)?.is_some() {
                count += 1;
            }
            return Ok(count);
        }
        statement.execute(values.as_slice()).map(|count| count as u64).map_err(failed)
    }

    fn each(
        &mut self,
        sql: &str,
        values: &[Value],
        visit: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        let failed = |error| explain(&self.name, &error);
        let mut statement = self.connection.prepare_cached(&numbered(sql)).map_err(failed)?;
        let columns = statement.column_count();
        let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        let mut rows = statement.query(values.as_slice()).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let value = |at| row.get_ref(at).map(value_of).map_err(failed);
            visit(Row((0..columns).map(value).collect::<Result<_>>()?))?;
        }
        Ok(())
    }

    fn batch(&mut self, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(|error| explain(&self.name, &error))
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        let value = match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        };
        Ok(rusqlite::types::ToSqlOutput::Borrowed(value))
    }
}

fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null | ValueRef::Real(_) => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

/// Registers the function that computes the checksum of a row.
pub(super) fn add_checksum_function(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function(checksum::FUNCTION, -1, flags, row_checksum)
}

/// Returns the checksum of values. Files contain it, so it never changes.
fn row_checksum(context: &Context<'_>) -> rusqlite::Result<i64> {
    // Rows are short, and hashing them at once is much faster than value by value.
    let mut row: Vec<u8> = Vec::with_capacity(256);
    for at in 0..context.len() {
        // The type and the length keep different rows from having the same bytes.
        match context.get_raw(at) {
            ValueRef::Null => row.push(0),
            ValueRef::Integer(number) => add_value(&mut row, 1, &number.to_le_bytes()),
            ValueRef::Real(number) => add_value(&mut row, 2, &number.to_le_bytes()),
            ValueRef::Text(text) => add_sized(&mut row, 3, text),
            ValueRef::Blob(bytes) => add_sized(&mut row, 4, bytes),
        }
    }
    let hash = blake3::hash(&row);
    let first = hash.as_bytes().first_chunk().copied().unwrap_or_default();
    Ok(i64::from_le_bytes(first))
}

fn add_value(row: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    row.push(kind);
    row.extend_from_slice(bytes);
}

fn add_sized(row: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    add_value(row, kind, &(bytes.len() as u64).to_le_bytes());
    row.extend_from_slice(bytes);
}

/// SQLite numbers `$1` by its first occurrence, but `?1` by its number.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

pub(super) fn explain(name: &str, error: &rusqlite::Error) -> LogError {
    let name = name.to_owned();
    let text: Phrase = error.to_string().into();
    let Some(found) = error.sqlite_error() else { return LogError::Database { name, text } };
    match found.code {
        ErrorCode::DiskFull => LogError::DiskFull { name },
        ErrorCode::ReadOnly => LogError::ReadOnly { name },
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => LogError::Locked { name },
        ErrorCode::NotADatabase => LogError::NotALog { name },
        ErrorCode::DatabaseCorrupt => LogError::Damaged { name, text },
        ErrorCode::SystemIoFailure => LogError::Flush { name, text },
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied => LogError::Open { name, text },
        _ => LogError::Database { name, text },
    }
}
