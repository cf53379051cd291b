//! Migrates rows from format 3 to format 4: adds the checksum column to every table, and indexes
//! the artifacts.

use crate::compress::decompress;
use crate::error::Result;
use crate::search_terms::artifact_terms;
use crate::store::checksum::{NOTE_VECTOR, TABLES, Table, VECTOR};
use crate::store::{Connection, Dialect, values};
use waterline::phrase;

pub(super) fn run(connection: &mut dyn Connection) -> Result<()> {
    // Later formats create their tables with checksums.
    let is_later = |table: &&Table| [VECTOR.name, NOTE_VECTOR.name].contains(&table.name);
    for table in TABLES.iter().filter(|table| !is_later(table)) {
        match connection.dialect() {
            Dialect::Sqlite => rebuild(connection, table)?,
            Dialect::Postgres => {
                let definition = table.definition(Dialect::Postgres);
                let sql = format!("ALTER TABLE {} ADD COLUMN {definition}", table.name);
                connection.run(&sql, &[])?;
            }
        }
    }
    index_artifacts(connection)
}

/// Copies a table into one with a checksum column: SQLite cannot add a stored generated column to
/// an existing table. The caller has switched foreign keys off.
fn rebuild(connection: &mut dyn Connection, table: &Table) -> Result<()> {
    let name = table.name;
    let damaged =
        || phrase!("damage-table-definition", "the definition of table {name}", name = name);
    let sql = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = $1";
    let definition = connection
        .row(sql, values![name])?
        .map(|mut row| row.text(0))
        .ok_or_else(|| connection.damaged(damaged()))?;
    // The new column is the first one: table constraints must come last.
    let (_, rest) = definition.split_once('(').ok_or_else(|| connection.damaged(damaged()))?;
    let texts = |connection: &mut dyn Connection, sql: &str| -> Result<Vec<String>> {
        let rows = connection.rows(sql, values![name])?;
        Ok(rows.into_iter().map(|mut row| row.text(0)).collect())
    };
    let columns = texts(connection, "SELECT name FROM pragma_table_info($1)")?.join(", ");
    let indexes = texts(
        connection,
        "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = $1 AND sql IS NOT NULL",
    )?;
    let checksum = table.definition(Dialect::Sqlite);
    let statements = [
        format!("CREATE TABLE rebuilt ({checksum}, {rest}"),
        format!("INSERT INTO rebuilt ({columns}) SELECT {columns} FROM {name}"),
        format!("DROP TABLE {name}"),
        format!("ALTER TABLE rebuilt RENAME TO {name}"),
    ];
    for statement in statements.iter().chain(&indexes) {
        connection.run(statement, &[])?;
    }
    Ok(())
}

fn index_artifacts(connection: &mut dyn Connection) -> Result<()> {
    let hashes = connection.rows("SELECT hash FROM artifact ORDER BY created, hash", &[])?;
    for mut hash in hashes {
        let hash = hash.bytes(0);
        let sql = "SELECT packed, bytes, size FROM artifact WHERE hash = $1";
        let row = connection.row(sql, values![hash.as_slice()])?;
        // A damaged artifact is not indexed; `verify` reports it.
        let bytes = row.and_then(|mut row| decompress(row.int(0), row.bytes(1), row.size(2)));
        if let Some(terms) = bytes.and_then(|bytes| artifact_terms(&bytes)) {
            let sql = "INSERT INTO artifact_text (hash) VALUES ($1) RETURNING key";
            let key = connection.number(sql, values![hash.as_slice()])?;
            connection.run(connection.dialect().index_artifact_terms(), values![key, terms])?;
        }
    }
    Ok(())
}
