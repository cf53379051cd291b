//! Migrations: one file per database format. A released format is never edited; a change is a new
//! file.

mod checksums;
mod documents;

use super::checksum::{NOTE_VECTOR, VECTOR};
use super::{Connection, Dialect, index_checksum, values};
use crate::error::{LogError, Result};

/// A format: the statements that migrate from the previous one, and a function that then converts
/// rows.
struct Format {
    sql: &'static str,
    then: Option<fn(&mut dyn Connection) -> Result<()>>,
}

/// All formats, oldest first.
const FORMATS: &[Format] = &[
    Format { sql: include_str!("../../../migrations/0001_first.sql"), then: None },
    Format { sql: include_str!("../../../migrations/0002_leases.sql"), then: None },
    Format {
        sql: include_str!("../../../migrations/0003_documents.sql"),
        then: Some(documents::run),
    },
    Format {
        sql: include_str!("../../../migrations/0004_checksums.sql"),
        then: Some(checksums::run),
    },
    Format { sql: include_str!("../../../migrations/0005_vectors.sql"), then: None },
    Format { sql: include_str!("../../../migrations/0006_note_vectors.sql"), then: None },
    Format {
        sql: include_str!("../../../migrations/0007_index_checksums.sql"),
        then: Some(index_checksum::insert_all),
    },
];

/// The format that this version writes.
pub(super) const NEWEST: i64 = FORMATS.len() as i64;

/// The index of messages, which differs between the databases.
const fn search(dialect: Dialect) -> &'static str {
    match dialect {
        // `detail=none`: positions of terms are not needed and would triple the index.
        Dialect::Sqlite => {
            "CREATE VIRTUAL TABLE search USING fts5(words, content='', contentless_delete=1, \
             detail=none, tokenize=\"ascii tokenchars '_'\")"
        }
        Dialect::Postgres => {
            "CREATE TABLE search (content BIGINT PRIMARY KEY REFERENCES content, \
             words TSVECTOR NOT NULL);
             CREATE INDEX search_words ON search USING gin (words)"
        }
    }
}

/// The index of artifacts, which differs between the databases.
const fn artifact_search(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => {
            "CREATE VIRTUAL TABLE artifact_search USING fts5(words, content='', \
             contentless_delete=1, detail=none, tokenize=\"ascii tokenchars '_'\")"
        }
        Dialect::Postgres => {
            "CREATE TABLE artifact_search (artifact BIGINT PRIMARY KEY REFERENCES artifact_text, \
             words TSVECTOR NOT NULL);
             CREATE INDEX artifact_search_words ON artifact_search USING gin (words)"
        }
    }
}

/// Migrates a database to the newest format. The caller holds a lock that excludes other
/// migrations.
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
        let statements = dialect
            .translate(&statements)
            .replace("{search}", search(dialect))
            .replace("{artifact_search}", artifact_search(dialect))
            .replace("{vector_checksum}", &VECTOR.definition(dialect))
            .replace("{note_vector_checksum}", &NOTE_VECTOR.definition(dialect));
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

/// Returns the format of a database. Refuses a format newer than this version supports.
pub(super) fn check(connection: &mut dyn Connection) -> Result<i64> {
    let found = connection.number("SELECT version FROM format", &[])?;
    if found > NEWEST {
        return Err(LogError::UnsupportedFormat {
            name: connection.name().to_owned(),
            found,
            known: NEWEST,
        });
    }
    Ok(found)
}
