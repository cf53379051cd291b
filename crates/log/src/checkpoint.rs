//! Checkpoints: the tip and the state of a session after each step, which can be restored. A
//! checkpoint stores the difference from a snapshot of the state. The oldest checkpoints are
//! deleted; messages never are.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delta;
use crate::error::{LogError, Result};
use crate::id::Id;
use crate::log::Log;
use crate::navigate::{Kind, record};
use crate::session::{self, Document, Session, text};
use crate::store::{Connection, Dialect, Row, checksum, values};
use crate::tree::{Tip, id_at, tip_of};
use waterline::phrase;

/// How many checkpoints the log keeps per session.
pub const CHECKPOINTS: u64 = 50;

/// A checkpoint of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The id of the session.
    pub thread_id: String,
    /// The id of the checkpoint. Ids sort in the order of creation.
    pub checkpoint_id: String,
    /// The previous checkpoint of the session.
    pub parent_checkpoint_id: Option<String>,
    /// The stored tip and state.
    pub checkpoint: Stored,
    /// The caller's metadata, such as the step and the reason.
    pub metadata: Value,
}

/// The contents of a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stored {
    /// The id of the last message.
    pub message: Option<String>,
    /// The number of messages.
    pub messages: u64,
    /// The state of the session. [`Session::local`] is not included, so that restoring neither
    /// grants nor revokes approvals.
    pub state: Document,
}

impl Log {
    /// Stores a checkpoint of a session's tip and state, and deletes those beyond [`CHECKPOINTS`].
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn checkpoint(&self, session: &str, metadata: Value) -> Result<Checkpoint> {
        let id = session.to_owned();
        self.write(move |connection| {
            let session = session::lock(connection, &id)?;
            let checkpoint_id = add(connection, &session, &metadata)?;
            let row = find(connection, &id, &checkpoint_id)?.ok_or_else(|| connection.race())?;
            of(connection, row)
        })
    }

    /// Returns the checkpoints of a session, oldest first.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn checkpoints(&self, session: &str) -> Result<Vec<Checkpoint>> {
        self.read(|connection| of_session(connection, session)?.into_iter().collect())
    }

    /// Restores the tip and the state of a checkpoint, and returns the session. Later messages are
    /// kept, as with [`Log::rewind`]. With `before`, the present state becomes a checkpoint with
    /// this metadata first, so that restoring can be undone. The oldest checkpoint makes way for
    /// it.
    ///
    /// # Errors
    /// If the checkpoint does not exist or is damaged. Then nothing is stored.
    pub fn restore(
        &self,
        session: &str,
        checkpoint_id: &str,
        before: Option<Value>,
    ) -> Result<Session> {
        let id = session.to_owned();
        let checkpoint_id = checkpoint_id.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::lock(connection, &id)?;
            let found = find(connection, &id, &checkpoint_id)?;
            let row = found.ok_or_else(|| LogError::Missing {
                what: "checkpoint",
                id: checkpoint_id.clone(),
            })?;
            let Stored { message, state, .. } = of(connection, row)?.checkpoint;
            let stored_tip = match message {
                Some(message) => tip_of(connection, message.parse::<Id>()?)?,
                None => Some(Tip::EMPTY),
            };
            let tip = stored_tip.ok_or_else(|| {
                connection.damaged(phrase!(
                    "damage-checkpoint-message",
                    "the message of a checkpoint is missing"
                ))
            })?;
            // After the checkpoint was read: it may be the oldest one.
            if let Some(metadata) = &before {
                add(connection, &session, metadata)?;
            }
            record(connection, &session, Kind::Restore, tip, now)?;
            session::put_state(connection, &Session { state, ..session })?;
            session::load(connection, &id)
        })
    }
}

/// Adds a checkpoint of a session and returns its id. The caller has locked the session.
pub(crate) fn add(
    connection: &mut dyn Connection,
    session: &Session,
    metadata: &Value,
) -> Result<String> {
    let id = &session.id;
    let newest = connection
        .row("SELECT MAX(checkpoint_id) FROM checkpoint WHERE thread_id = $1", values![id])?;
    let parent = newest.and_then(|mut row| row.maybe_text(0));
    let number: u64 = parent.as_ref().and_then(|id| id.parse().ok()).unwrap_or(0) + 1;
    let checkpoint_id = format!("{number:012}");
    let key = CheckpointKey {
        session: id,
        checkpoint_id: &checkpoint_id,
        parent: parent.as_ref(),
        tip: session.tip,
    };
    if !put(connection, &key, &session.state, metadata)? {
        return Err(connection.race());
    }
    let sql = "DELETE FROM checkpoint WHERE thread_id = $1 AND checkpoint_id <= $2";
    if connection.run(sql, values![id, format!("{:012}", number.saturating_sub(CHECKPOINTS))])? > 0
    {
        let sql = "DELETE FROM snapshot WHERE session = $1 \
                   AND number < (SELECT MIN(snapshot) FROM checkpoint WHERE thread_id = $1)";
        connection.run(sql, values![id])?;
    }
    Ok(checkpoint_id)
}

/// Inserts an imported checkpoint. Returns `false` if its id is taken.
pub(crate) fn insert(
    connection: &mut dyn Connection,
    checkpoint: &Checkpoint,
    tip: Tip,
) -> Result<bool> {
    let key = CheckpointKey {
        session: &checkpoint.thread_id,
        checkpoint_id: &checkpoint.checkpoint_id,
        parent: checkpoint.parent_checkpoint_id.as_ref(),
        tip,
    };
    put(connection, &key, &checkpoint.checkpoint.state, &checkpoint.metadata)
}

/// The ids and the tip of a checkpoint.
struct CheckpointKey<'a> {
    session: &'a str,
    checkpoint_id: &'a str,
    parent: Option<&'a String>,
    tip: Tip,
}

/// Inserts a checkpoint. Returns `false` if its id is taken.
fn put(
    connection: &mut dyn Connection,
    key: &CheckpointKey<'_>,
    state: &Document,
    metadata: &Value,
) -> Result<bool> {
    let (snapshot, changes) = snapshot_and_changes(connection, key.session, state)?;
    let sql = format!(
        "INSERT INTO checkpoint ({ROW}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (thread_id, checkpoint_id) DO NOTHING"
    );
    let Tip { branch, position } = key.tip;
    let values = values![
        key.session,
        key.checkpoint_id,
        key.parent,
        metadata.to_string(),
        branch,
        position,
        snapshot,
        changes
    ];
    Ok(connection.run(&sql, values)? == 1)
}

/// Returns the number of a snapshot and the changes from it to `state`. Stores a new snapshot if
/// too much has changed.
fn snapshot_and_changes(
    connection: &mut dyn Connection,
    session: &str,
    state: &Document,
) -> Result<(i64, String)> {
    let sql = "SELECT number, state FROM snapshot WHERE session = $1 ORDER BY number DESC LIMIT 1";
    let newest = connection.row(sql, values![session])?.map(|mut row| (row.int(0), row.text(1)));
    if let Some((number, known)) = &newest
        && let Ok(known) = serde_json::from_str(known)
        && let Some(changes) = delta::between(&known, state)
    {
        return Ok((*number, changes));
    }
    let number = newest.map_or(0, |(number, _)| number) + 1;
    let sql = "INSERT INTO snapshot (session, number, state) VALUES ($1, $2, $3)";
    connection.run(sql, values![session, number, text(state)])?;
    Ok((number, String::new()))
}

/// The columns of the table.
const ROW: &str =
    "thread_id, checkpoint_id, parent_checkpoint_id, metadata, branch, position, snapshot, changes";

/// Returns the columns and the tables that [`of`] reads.
fn columns(dialect: Dialect) -> String {
    format!(
        "c.thread_id, c.checkpoint_id, c.parent_checkpoint_id, c.metadata, c.branch, c.position, \
         c.changes, s.state, {}, {} FROM checkpoint c \
         LEFT JOIN snapshot s ON s.session = c.thread_id AND s.number = c.snapshot",
        checksum::CHECKPOINT.intact(dialect, "c."),
        checksum::SNAPSHOT.intact(dialect, "s.")
    )
}

/// Returns the checkpoints of a session, oldest first. For a damaged one, returns the error.
pub(crate) fn of_session(
    connection: &mut dyn Connection,
    session: &str,
) -> Result<Vec<Result<Checkpoint>>> {
    let columns = columns(connection.dialect());
    let sql = format!("SELECT {columns} WHERE c.thread_id = $1 ORDER BY c.checkpoint_id");
    let rows = connection.rows(&sql, values![session])?;
    Ok(rows.into_iter().map(|row| of(connection, row)).collect())
}

/// Like [`of_session`] for a damaged table, whose rows cannot be found by their keys: reads all
/// rows that can be read. Also returns the errors that ended the queries.
pub(crate) fn scan_session(
    connection: &mut dyn Connection,
    session: &str,
) -> Result<(Vec<Result<Checkpoint>>, Vec<LogError>)> {
    let dialect = connection.dialect();
    let is_intact = checksum::SNAPSHOT.intact(dialect, "");
    // With the plus, the order is still that of the key, but no row is found by its key.
    let sql = |direction: &str| {
        format!(
            "SELECT number, state, {is_intact} FROM snapshot WHERE +session = $1 \
             ORDER BY session {direction}, number {direction}"
        )
    };
    let (snapshots, error) = connection.readable_rows(sql, values![session])?;
    let mut errors: Vec<LogError> = error.into_iter().collect();
    let snapshots: HashMap<i64, String> = snapshots
        .into_iter()
        .filter(|row| row.int(2) == 1)
        .map(|mut row| (row.int(0), row.text(1)))
        .collect();
    let is_intact = checksum::CHECKPOINT.intact(dialect, "");
    let sql = |direction: &str| {
        format!(
            "SELECT thread_id, checkpoint_id, parent_checkpoint_id, metadata, branch, position, \
             changes, snapshot, {is_intact} FROM checkpoint WHERE +thread_id = $1 \
             ORDER BY thread_id {direction}, checkpoint_id {direction}"
        )
    };
    let (rows, error) = connection.readable_rows(sql, values![session])?;
    errors.extend(error);
    let mut found = BTreeMap::new();
    for row in rows {
        let snapshot = snapshots.get(&row.int(7)).filter(|_| row.int(8) == 1).cloned();
        let id = row.clone().text(1);
        found.insert(id, assemble(connection, row, snapshot));
    }
    Ok((found.into_values().collect(), errors))
}

fn find(
    connection: &mut dyn Connection,
    session: &str,
    checkpoint_id: &str,
) -> Result<Option<Row>> {
    let columns = columns(connection.dialect());
    let sql = format!("SELECT {columns} WHERE c.thread_id = $1 AND c.checkpoint_id = $2");
    connection.row(&sql, values![session, checkpoint_id])
}

fn of(connection: &mut dyn Connection, mut row: Row) -> Result<Checkpoint> {
    let snapshot = row.maybe_text(7).filter(|_| row.int(8) == 1 && row.int(9) == 1);
    assemble(connection, row, snapshot)
}

/// Makes a checkpoint of the first columns of a row and its snapshot, both of which must be intact.
fn assemble(
    connection: &mut dyn Connection,
    mut row: Row,
    snapshot: Option<String>,
) -> Result<Checkpoint> {
    let checkpoint_id = row.text(1);
    let metadata = serde_json::from_str(&row.text(3));
    let state = snapshot
        .and_then(|snapshot| serde_json::from_str::<Document>(&snapshot).ok())
        .and_then(|snapshot| delta::apply(&snapshot, &row.text(6)));
    let tip = Tip { branch: row.int(4), position: row.count(5) };
    let message = id_at(connection, tip)?.map(|id| id.to_string());
    let (Some(state), Ok(metadata)) = (state, metadata) else {
        return Err(connection.damaged(phrase!(
            "damage-checkpoint",
            "checkpoint {id}",
            id = checkpoint_id
        )));
    };
    Ok(Checkpoint {
        thread_id: row.text(0),
        checkpoint_id,
        parent_checkpoint_id: row.maybe_text(2),
        checkpoint: Stored { message, messages: tip.position, state },
        metadata,
    })
}
