//! Compares the schema of a file with the one that the migrations create. Damage there can change
//! what a query means although every row is intact: how the index splits words, or the type of a
//! column.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::handle::{Handle, add_checksum_function, explain};
use crate::error::Result;
use crate::store::Connection;
use crate::store::migrate::migrate;
use waterline::phrase;
use waterline::phrase::Phrase;

/// The definitions of tables and indexes, by name.
type Definitions = BTreeMap<String, String>;

/// The definitions of a new log.
static EXPECTED: OnceLock<Definitions> = OnceLock::new();

/// Returns a description of each table or index whose definition is missing or was changed.
pub(super) fn differences(handle: &mut Handle) -> Result<Vec<Phrase>> {
    let stored = definitions(handle)?;
    let expected = match EXPECTED.get() {
        Some(expected) => expected,
        None => {
            let expected = definitions(&mut empty_log(&handle.name)?)?;
            EXPECTED.get_or_init(|| expected)
        }
    };
    let wrong = expected.iter().filter(|(name, sql)| stored.get(*name) != Some(*sql));
    let describe = |name: &String| {
        phrase!("damage-definition", "the definition of {name} is damaged", name = name)
    };
    Ok(wrong.map(|(name, _)| describe(name)).collect())
}

/// Creates an empty log in memory.
fn empty_log(name: &str) -> Result<Handle> {
    let failed = |error| explain(name, &error);
    let connection = rusqlite::Connection::open_in_memory().map_err(failed)?;
    add_checksum_function(&connection).map_err(failed)?;
    let mut handle = Handle { connection, name: name.to_owned() };
    handle.batch("PRAGMA foreign_keys = OFF")?;
    migrate(&mut handle, true)?;
    Ok(handle)
}

/// Returns the definition of each table and index, by name. Quotes and spaces are left out: they
/// may depend on the version of SQLite that renamed a table.
fn definitions(handle: &mut Handle) -> Result<Definitions> {
    let mut found = Definitions::new();
    let sql = "SELECT name, type || ' ' || tbl_name || ' ' || sql FROM sqlite_master \
               WHERE sql IS NOT NULL";
    handle.each(sql, &[], &mut |mut row| {
        let definition = row.text(1).replace(|c: char| c == '"' || c.is_whitespace(), "");
        found.insert(row.text(0), definition);
        Ok(())
    })?;
    Ok(found)
}
