//! Tool definitions, stored once per distinct list and shared by sessions. The log does not
//! interpret them.

use crate::compress::{compress, decompress};
use crate::encoding::hash_name;
use crate::error::{LogError, Result};
use crate::log::Log;
use crate::session;
use crate::store::{Connection, values};
use waterline::phrase;

impl Log {
    /// Returns the tool definitions with this hash, as stored ([`Session::tools`]).
    ///
    /// [`Session::tools`]: crate::Session::tools
    ///
    /// # Errors
    /// If they do not exist or are damaged.
    pub fn tools(&self, hash: &str) -> Result<Vec<u8>> {
        self.read(|connection| read(connection, hash))
    }

    /// Stores the tool definitions that a session uses and returns their hash.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn set_tools(&self, session: &str, definitions: Vec<u8>) -> Result<String> {
        let id = session.to_owned();
        self.write(move |connection| {
            session::load(connection, &id)?;
            set(connection, &id, &definitions)
        })
    }
}

/// Sets the tool definitions of a session.
pub(crate) fn set(
    connection: &mut dyn Connection,
    session: &str,
    definitions: &[u8],
) -> Result<String> {
    let hash = put(connection, definitions)?;
    connection
        .run("UPDATE session SET tools = $1 WHERE id = $2", values![hash.as_slice(), session])?;
    Ok(hash_name(&hash))
}

/// Stores definitions unless the log has them, and returns their hash.
pub(crate) fn put(connection: &mut dyn Connection, definitions: &[u8]) -> Result<Vec<u8>> {
    let hash = blake3::hash(definitions).as_bytes().to_vec();
    let known = connection
        .number("SELECT COUNT(*) FROM toolset WHERE hash = $1", values![hash.as_slice()])?;
    if known == 0 {
        let (packed, bytes) = compress(definitions);
        let sql = "INSERT INTO toolset (hash, size, packed, bytes) VALUES ($1, $2, $3, $4) \
                   ON CONFLICT (hash) DO NOTHING";
        connection
            .run(sql, values![hash.as_slice(), definitions.len(), packed, bytes.into_owned()])?;
    }
    Ok(hash)
}

pub(crate) fn read(connection: &mut dyn Connection, name: &str) -> Result<Vec<u8>> {
    read_from(connection, "toolset", name)
}

/// Reads definitions. `table` is the name of their table in the query.
pub(crate) fn read_from(
    connection: &mut dyn Connection,
    table: &str,
    name: &str,
) -> Result<Vec<u8>> {
    let missing =
        || LogError::Missing { what: "tool definitions", id: name.chars().take(80).collect() };
    let known = blake3::Hash::from_hex(name).map_err(|_| missing())?;
    let sql = format!("SELECT packed, bytes, size FROM {table} WHERE hash = $1");
    let mut row =
        connection.row(&sql, values![known.as_bytes().as_slice()])?.ok_or_else(missing)?;
    let bytes = decompress(row.int(0), row.bytes(1), row.size(2))
        .filter(|bytes| blake3::hash(bytes) == known);
    bytes.ok_or_else(|| {
        connection.damaged(phrase!("damage-toolset", "the tool definitions {name}", name = name))
    })
}

/// Deletes the definitions that no session uses.
pub(crate) fn sweep(connection: &mut dyn Connection) -> Result<()> {
    let sql = "DELETE FROM toolset WHERE NOT EXISTS \
               (SELECT 1 FROM session WHERE session.tools = toolset.hash)";
    connection.run(sql, &[]).map(drop)
}
