//! Formats of the database, one file a format. A format that was released is never edited: a change
//! is a new file.

mod documents;

use super::{Connection, Dialect, values};
use crate::error::{LogError, Result};

/// A format: the statements that lead to it from the one before, and the rows that are moved after
/// them.
struct Format {
    sql: &'static str,
    then: Option<fn(&mut dyn Connection) -> Result<()>>,
}

/// The formats in their order; the last one is the newest.
const FORMATS: &[Format] = &[
    Format { sql: include_str!("../../../migrations/0001_first.sql"), then: None },
    Format { sql: include_str!("../../../migrations/0002_leases.sql"), then: None },
    Format {
        sql: include_str!("../../../migrations/0003_documents.sql"),
        then: Some(documents::run),
    },
];

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
    for (at, format) in FORMATS.iter().enumerate().skip(usize::try_from(found).unwrap_or_default())
    {
        let statements = format
            .sql
            .lines()
            .filter(|line| !line.trim_start().starts_with("--"))
            .collect::<Vec<_>>()
            .join("\n");
        let statements = dialect.translate(&statements).replace("{search}", search(dialect));
        for statement in
            statements.split(';').map(str::trim).filter(|statement| !statement.is_empty())
        {
            connection.run(statement, &[])?;
        }
        if let Some(then) = format.then {
            then(connection)?;
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
