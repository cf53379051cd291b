//! Tool definitions: a list is stored once, however many sessions are held with it. The log does
//! not read it.

use crate::compress::{pack, unpack};
use crate::error::{LogError, Result};
use crate::log::Log;
use crate::session;
use crate::store::{Connection, values};

impl Log {
    /// The tool definitions of a hash, as they were stored.
    ///
    /// # Errors
    /// When there are none, or they are damaged.
    pub fn tools(&self, hash: &str) -> Result<Vec<u8>> {
        self.read(|connection| read(connection, hash))
    }

    /// Stores the tool definitions of a session and returns their hash.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn set_tools(&self, session: &str, definitions: Vec<u8>) -> Result<String> {
        let id = session.to_owned();
        self.write(move |connection| {
            session::load(connection, &id)?;
            set(connection, &id, &definitions)
        })
    }
}

/// Gives a session its tool definitions.
pub(crate) fn set(
    connection: &mut dyn Connection,
    session: &str,
    definitions: &[u8],
) -> Result<String> {
    let hash = put(connection, definitions)?;
    connection
        .run("UPDATE session SET tools = $1 WHERE id = $2", values![hash.as_slice(), session])?;
    Ok(name(&hash))
}

/// Stores definitions, unless they are there.
pub(crate) fn put(connection: &mut dyn Connection, definitions: &[u8]) -> Result<Vec<u8>> {
    let hash = blake3::hash(definitions).as_bytes().to_vec();
    let known = connection
        .number("SELECT COUNT(*) FROM toolset WHERE hash = $1", values![hash.as_slice()])?;
    if known == 0 {
        let (packed, bytes) = pack(definitions);
        let sql = "INSERT INTO toolset (hash, size, packed, bytes) VALUES ($1, $2, $3, $4) ON CONFLICT (hash) DO NOTHING";
        connection
            .run(sql, values![hash.as_slice(), definitions.len(), packed, bytes.into_owned()])?;
    }
    Ok(hash)
}

pub(crate) fn read(connection: &mut dyn Connection, name: &str) -> Result<Vec<u8>> {
    let missing =
        || LogError::Missing { what: "list of tools", id: name.chars().take(80).collect() };
    let known = blake3::Hash::from_hex(name).map_err(|_| missing())?;
    let sql = "SELECT packed, bytes, size FROM toolset WHERE hash = $1";
    let mut row = connection.row(sql, values![known.as_bytes().as_slice()])?.ok_or_else(missing)?;
    let bytes =
        unpack(row.int(0), row.bytes(1), row.size(2)).filter(|bytes| blake3::hash(bytes) == known);
    bytes.ok_or_else(|| connection.damaged(format!("the tool definitions {name}")))
}

/// Deletes the lists that no session is held with.
pub(crate) fn sweep(connection: &mut dyn Connection) -> Result<()> {
    let sql = "DELETE FROM toolset WHERE NOT EXISTS (SELECT 1 FROM session WHERE session.tools = toolset.hash)";
    connection.run(sql, &[]).map(drop)
}

/// A hash as it is shown.
pub(crate) fn name(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hash as it is stored.
pub(crate) fn hash(name: &str) -> Option<Vec<u8>> {
    blake3::Hash::from_hex(name).ok().map(|hash| hash.as_bytes().to_vec())
}
