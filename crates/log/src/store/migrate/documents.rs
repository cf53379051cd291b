//! Migrates rows from format 2 to format 3: splits states, stores tool definitions once, and
//! converts checkpoints. Its statements belong to format 3 and never change, even if later formats
//! change the tables.

use serde_json::{Map, Value};

use crate::compress::compress;
use crate::error::Result;
use crate::format_1::Format1State;
use crate::store::{Connection, values};

pub(super) fn run(connection: &mut dyn Connection) -> Result<()> {
    let ids: Vec<String> = connection
        .rows("SELECT id FROM session", &[])?
        .into_iter()
        .map(|mut row| row.text(0))
        .collect();
    for id in ids {
        let stored = connection.row("SELECT state FROM session WHERE id = $1", values![&id])?;
        // A state that cannot be read is left unchanged. Loading that session reports it.
        if let Some(state) = stored.and_then(|mut row| serde_json::from_str(&row.text(0)).ok()) {
            session(connection, &id, state)?;
        }
        checkpoints(connection, &id)?;
    }
    connection.run("DROP TABLE checkpoint_before", &[]).map(drop)
}

fn session(connection: &mut dyn Connection, id: &str, state: Map<String, Value>) -> Result<()> {
    let old = Format1State::of(state);
    let tools = match old.tools {
        Some(tools) => Some(toolset(connection, tools.as_bytes())?),
        None => None,
    };
    let sql = "UPDATE session SET state = $1, local = $2, workspace = $3, imported = $4, \
               tools = $5 WHERE id = $6";
    let state = Value::from(old.state).to_string();
    let local = Value::from(old.local).to_string();
    connection.run(sql, values![state, local, old.workspace, old.imported, tools, id]).map(drop)
}

fn toolset(connection: &mut dyn Connection, tools: &[u8]) -> Result<Vec<u8>> {
    let hash = blake3::hash(tools).as_bytes().to_vec();
    let (packed, bytes) = compress(tools);
    let sql = "INSERT INTO toolset (hash, size, packed, bytes) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (hash) DO NOTHING";
    connection.run(sql, values![hash.as_slice(), tools.len(), packed, bytes.into_owned()])?;
    Ok(hash)
}

/// Converts the checkpoints of a session. Unreadable ones are dropped: they could not be restored
/// before either.
fn checkpoints(connection: &mut dyn Connection, session: &str) -> Result<()> {
    let sql = "SELECT checkpoint_id, parent_checkpoint_id, checkpoint, metadata \
               FROM checkpoint_before WHERE thread_id = $1 ORDER BY checkpoint_id";
    let mut newest: Option<(i64, String)> = None;
    for mut row in connection.rows(sql, values![session])? {
        let Ok(Value::Object(mut stored)) = serde_json::from_slice(&row.bytes(2)) else { continue };
        let Some(Value::Object(state)) = stored.remove("state") else { continue };
        let Some((branch, position)) = tip_of(connection, stored.get("message"))? else { continue };
        let state = Value::from(Format1State::of(state).state).to_string();
        let number = match newest.take() {
            Some((number, known)) if known == state => number,
            previous => {
                let number = previous.map_or(0, |(number, _)| number) + 1;
                let sql = "INSERT INTO snapshot (session, number, state) VALUES ($1, $2, $3)";
                connection.run(sql, values![session, number, &state])?;
                number
            }
        };
        let metadata = String::from_utf8(row.bytes(3)).unwrap_or_else(|_| "null".to_owned());
        let sql = "INSERT INTO checkpoint (thread_id, checkpoint_id, parent_checkpoint_id, \
                   branch, position, snapshot, changes, metadata) \
                   VALUES ($1, $2, $3, $4, $5, $6, '', $7)";
        let id = row.text(0);
        let parent = row.maybe_text(1);
        connection.run(sql, values![session, id, parent, branch, position, number, metadata])?;
        newest = Some((number, state));
    }
    Ok(())
}

/// Returns the branch and position of a checkpoint's message; (0, 0) if it has none.
fn tip_of(connection: &mut dyn Connection, message: Option<&Value>) -> Result<Option<(i64, i64)>> {
    let Some(id) = message.and_then(Value::as_str) else { return Ok(Some((0, 0))) };
    let Ok(id) = blake3::Hash::from_hex(id) else { return Ok(None) };
    let sql = "SELECT branch, position FROM message WHERE id = $1";
    let row = connection.row(sql, values![id.as_bytes().as_slice()])?;
    Ok(row.map(|row| (row.int(0), row.int(1))))
}
