//! Access to the database. Statements are written once, with `$1` placeholders and portable types;
//! [`Dialect`] has the differences. Code outside this module does not know which database it uses.

pub(crate) mod checksum;
mod dialect;
pub(crate) mod index_checksum;
mod migrate;
mod postgres;
mod sqlite;
mod tls;
mod transaction;
mod value;

pub(crate) use dialect::Dialect;
pub(crate) use value::{Row, Value, values};

use std::path::Path;
use std::sync::Arc;

use crate::error::{LogError, Result};
use crate::options::Options;
use waterline::phrase::Phrase;

/// A connection with an open transaction.
pub(crate) trait Connection {
    /// Runs a statement and returns the number of affected rows.
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64>;

    /// Calls `visit` with each row of a query.
    fn each(
        &mut self,
        sql: &str,
        values: &[Value],
        visit: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()>;

    /// Runs statements without values and without results.
    fn batch(&mut self, sql: &str) -> Result<()>;

    fn dialect(&self) -> Dialect;

    /// Returns the name of the database, for errors.
    fn name(&self) -> &str;
}

impl dyn Connection + '_ {
    /// Returns the rows of a query.
    pub(crate) fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        self.each(sql, values, &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Returns the rows of a query that can be read, in both directions of its order: `sql` gets
    /// `ASC` or `DESC`. Damage ends a query, but seldom from both ends at the same row. The rows
    /// between are lost; the error says so.
    pub(crate) fn readable_rows(
        &mut self,
        sql: impl Fn(&str) -> String,
        values: &[Value],
    ) -> Result<(Vec<Row>, Option<LogError>)> {
        let mut rows = Vec::new();
        let mut last = Vec::new();
        let forward = self.each(&sql("ASC"), values, &mut |row| {
            rows.push(row);
            Ok(())
        });
        let Err(error) = forward else { return Ok((rows, None)) };
        if !error.may_be_damage() {
            return Err(error);
        }
        // It fails too, unless the damage is gone.
        drop(self.each(&sql("DESC"), values, &mut |row| {
            last.push(row);
            Ok(())
        }));
        rows.extend(last.into_iter().rev());
        Ok((rows, Some(error)))
    }

    /// Returns the first row of a query.
    pub(crate) fn row(&mut self, sql: &str, values: &[Value]) -> Result<Option<Row>> {
        Ok(self.rows(sql, values)?.into_iter().next())
    }

    /// Returns the first column of the first row as a number; 0 if there is none.
    pub(crate) fn number(&mut self, sql: &str, values: &[Value]) -> Result<i64> {
        Ok(self.row(sql, values)?.map_or(0, |row| row.int(0)))
    }

    pub(crate) fn race(&self) -> LogError {
        LogError::WriteConflict { name: self.name().to_owned() }
    }

    pub(crate) fn damaged(&self, text: Phrase) -> LogError {
        LogError::Damaged { name: self.name().to_owned(), text }
    }
}

/// Work inside one transaction. It runs again after a write conflict.
pub(crate) type Work = Box<dyn Fn(&mut dyn Connection) -> Result<()> + Send>;

/// Several operations inside one transaction, which they use as a store. They run again after a
/// write conflict.
pub(crate) type Job = Box<dyn Fn(&Arc<dyn Store>) -> Result<()> + Send>;

/// Receives the outcome of a transaction, once it is durable.
pub(crate) type Finish = Box<dyn FnOnce(Result<()>) + Send>;

/// A database.
pub(crate) trait Store: Send + Sync {
    /// Runs `work` on one consistent snapshot.
    fn read(&self, work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>) -> Result<()>;

    /// Runs `work` in a write transaction, which is durable on return.
    fn write(&self, work: Work) -> Result<()>;

    /// Runs `work` while no other writer is active, so that it does not delete rows that another
    /// transaction has just found.
    fn write_alone(&self, work: Work) -> Result<()>;

    /// Runs several operations in one transaction, then calls `finish`.
    fn transact(&self, job: Job, finish: Finish);

    /// Returns whether [`Store::transact`] only queues the work, so that it may be called on a
    /// thread that must not block.
    fn queues_writes(&self) -> bool;

    /// Runs the database's own integrity check and returns the problems.
    fn check(&self) -> Result<Vec<Phrase>>;

    /// Returns the damage with which the store was opened for reading
    /// ([`Options::salvage`](crate::Options::salvage)).
    fn format_damage(&self) -> Option<Phrase> {
        None
    }

    /// Frees the space of deleted data and removes all traces of it.
    fn shrink(&self) -> Result<()>;

    /// Returns the size in bytes.
    fn size(&self) -> Result<u64>;

    /// Returns the URL, without a password.
    fn name(&self) -> &str;

    /// Copies the database to a file while it is in use. Returns `false` if the store cannot do so.
    fn backup(&self, to: &Path) -> Result<bool>;
}

/// Opens the database at a URL and migrates it to the newest format.
pub(crate) fn open(url: &str, options: &Options) -> Result<Arc<dyn Store>> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Arc::new(postgres::Postgres::open(url, options)?));
    }
    let file = match url.split_once("://") {
        Some(("sqlite", file)) => file,
        Some(_) => return Err(LogError::InvalidUrl { url: shown(url) }),
        None => url.strip_prefix("sqlite:").unwrap_or(url),
    };
    // One slash is missing. The rest may contain a password.
    if let Some(scheme) = ["postgres", "postgresql"]
        .iter()
        .find(|scheme| file.strip_prefix(**scheme).is_some_and(|rest| rest.starts_with(':')))
    {
        return Err(LogError::InvalidUrl { url: format!("{scheme}:…") });
    }
    // A PostgreSQL connection string is not a file name, and may contain a password.
    if file.is_empty() || file.contains("password=") || file.starts_with("host=") {
        return Err(LogError::InvalidUrl {
            url: if file.is_empty() { String::new() } else { "host=…".to_owned() },
        });
    }
    if may_have_password(file) && !Path::new(file).exists() {
        return Err(LogError::InvalidUrl { url: "…@…".to_owned() });
    }
    Ok(Arc::new(sqlite::Sqlite::open(Path::new(file), options)?))
}

/// Returns whether a text that should name a log may be a mistyped address with a password, so that
/// it must not be shown: `user:password@host`, or settings with `password=`.
#[must_use]
pub fn may_have_password(text: &str) -> bool {
    let is_path = text.starts_with(['/', '.', '~']);
    let has_user =
        text.split_once(':').is_some_and(|(user, rest)| !user.is_empty() && rest.contains('@'));
    text.contains("password=") || (!is_path && has_user)
}

/// Returns the part of a URL that is safe to show: of a URL with a scheme only the scheme, since
/// the rest may contain a password.
fn shown(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://…"),
        None => url.to_owned(),
    }
}

/// Creates a file that only its owner can read. Fails if the file exists.
pub(crate) fn create_private(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
