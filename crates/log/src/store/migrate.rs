//! Formats of the database, one file a format. A format that was released is never edited: a change is a new file.

use super::{Connection, Dialect, values};
use crate::error::{LogError, Result};

/// The formats in their order; the last one is the newest.
const FORMATS: &[&str] =
    &[include_str!("../../migrations/0001_first.sql"), include_str!("../../migrations/0002_leases.sql")];

/// The newest format.
pub(super) const NEWEST: i64 = FORMATS.len() as i64;

/// What only one of the databases has.
const fn search(dialect: Dialect) -> &'static str {
    match dialect {
        // Which message has which word is enough: places of words would triple the index.
        Dialect::Sqlite => {
            "CREATE VIRTUAL TABLE search USING fts5(words, content='', contentless_delete=1, detail=none, \
             tokenize=\"ascii tokenchars '_'\")"
        }
        Dialect::Postgres => {
            "CREATE TABLE search (content BIGINT PRIMARY KEY REFERENCES content, words TSVECTOR NOT NULL);
             CREATE INDEX search_words ON search USING gin (words)"
        }
    }
}

/// Brings a database to the newest format. The caller holds a lock against others who do the same.
pub(super) fn migrate(connection: &mut dyn Connection, is_empty: bool) -> Result<()> {
    let dialect = connection.dialect();
    if is_empty {
        connection.run(&dialect.translate("CREATE TABLE format (version {int} NOT NULL)"), &[])?;
        connection.run("INSERT INTO format (version) VALUES (0)", &[])?;
    }
    let found = check(connection)?;
    for (at, format) in FORMATS.iter().enumerate().skip(usize::try_from(found).unwrap_or_default()) {
        let statements =
            format.lines().filter(|line| !line.trim_start().starts_with("--")).collect::<Vec<_>>().join("\n");
        let statements = dialect.translate(&statements).replace("{search}", search(dialect));
        for statement in statements.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
            connection.run(statement, &[])?;
        }
        connection.run("UPDATE format SET version = $1", values![at + 1])?;
    }
    Ok(())
}

/// The format of a database, if this program knows it.
pub(super) fn check(connection: &mut dyn Connection) -> Result<i64> {
    let found = connection.number("SELECT version FROM format", &[])?;
    if found > NEWEST {
        return Err(LogError::Newer { name: connection.name().to_owned(), found, known: NEWEST });
    }
    Ok(found)
}
