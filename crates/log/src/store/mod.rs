//! The narrow gate to a database: statements once, in `$1` style with portable types; what differs
//! between the two is in [`Dialect`]. Nothing above this folder knows which database it is.

mod dialect;
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

/// One transaction.
pub(crate) trait Connection {
    /// Runs a statement and says how many rows it touched.
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64>;

    /// Hands over the rows of a query, one at a time.
    fn each(
        &mut self,
        sql: &str,
        values: &[Value],
        visit: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()>;

    /// Runs statements that have no values and no rows.
    fn batch(&mut self, sql: &str) -> Result<()>;

    /// What is special about this database.
    fn dialect(&self) -> Dialect;

    /// Its name, for errors.
    fn name(&self) -> &str;
}

impl dyn Connection + '_ {
    /// The rows of a query.
    pub(crate) fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        self.each(sql, values, &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The first row of a query.
    pub(crate) fn row(&mut self, sql: &str, values: &[Value]) -> Result<Option<Row>> {
        Ok(self.rows(sql, values)?.into_iter().next())
    }

    /// The first number of the first row; 0 where there is none.
    pub(crate) fn number(&mut self, sql: &str, values: &[Value]) -> Result<i64> {
        Ok(self.row(sql, values)?.map_or(0, |row| row.int(0)))
    }

    pub(crate) fn race(&self) -> LogError {
        LogError::Race { name: self.name().to_owned() }
    }

    pub(crate) fn damaged(&self, text: impl Into<String>) -> LogError {
        LogError::Damaged { name: self.name().to_owned(), text: text.into() }
    }
}

/// Work inside one transaction. It may be run again when two writers meet.
pub(crate) type Work = Box<dyn Fn(&mut dyn Connection) -> Result<()> + Send>;

/// Operations inside one transaction, which they see as a store of its own. They may be run again
/// when two writers meet.
pub(crate) type Job = Box<dyn Fn(&Arc<dyn Store>) -> Result<()> + Send>;

/// Receives the outcome of a transaction, once it is durable.
pub(crate) type Finish = Box<dyn FnOnce(Result<()>) + Send>;

/// A database.
pub(crate) trait Store: Send + Sync {
    /// Reads one consistent state.
    fn read(&self, work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>) -> Result<()>;

    /// Writes; what was written is durable when it returns.
    fn write(&self, work: Work) -> Result<()>;

    /// Writes while nobody else does: what is deleted must not be what another one just found.
    fn write_alone(&self, work: Work) -> Result<()>;

    /// Does several operations in one transaction.
    fn transact(&self, job: Job, finish: Finish);

    /// Whether [`Store::transact`] only queues the work, so that it may be called where blocking is
    /// not allowed.
    fn queues_writes(&self) -> bool;

    /// What the database itself finds wrong with its files.
    fn check(&self) -> Result<Vec<String>>;

    /// Gives back the room of what was deleted, and leaves nothing of it behind.
    fn shrink(&self) -> Result<()>;

    /// The bytes it takes.
    fn size(&self) -> Result<u64>;

    /// Its address, as it may be shown.
    fn name(&self) -> &str;

    /// Copies the database into a file while it is used; `false` where that is not its way.
    fn backup(&self, to: &Path) -> Result<bool>;
}

/// Opens the database at an address and brings it to the newest format.
pub(crate) fn open(url: &str, options: &Options) -> Result<Arc<dyn Store>> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Arc::new(postgres::Postgres::open(url, options)?));
    }
    let file = match url.split_once("://") {
        Some(("sqlite", file)) => file,
        Some(_) => return Err(LogError::Address { url: shown(url) }),
        None => url.strip_prefix("sqlite:").unwrap_or(url),
    };
    // A list of settings is no file name, and may hold a password.
    if file.is_empty() || file.contains("password=") || file.starts_with("host=") {
        return Err(LogError::Address {
            url: if file.is_empty() { String::new() } else { "host=…".to_owned() },
        });
    }
    Ok(Arc::new(sqlite::Sqlite::open(Path::new(file), options)?))
}

/// An address as it may be shown: of one that may hold a password, only what it begins with.
fn shown(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://…"),
        None => url.to_owned(),
    }
}

/// A new file that only its owner can read: what was said is nobody else's business. One that is
/// there is left alone.
pub(crate) fn private(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
