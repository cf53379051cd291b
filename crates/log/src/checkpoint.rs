//! Checkpoints: where a session stood and what its state was after each step, so that any of them
//! can be restored. A checkpoint stores what changed since a snapshot. The oldest are thinned out;
//! the messages never are.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delta;
use crate::error::{LogError, Result};
use crate::id::Id;
use crate::log::Log;
use crate::navigate::{Kind, record};
use crate::session::{self, Document, Session, text};
use crate::store::{Connection, Row, values};
use crate::tree::{Tip, id_at, place};

/// How many checkpoints of a session are kept.
pub const CHECKPOINTS: u64 = 50;

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The session.
    pub thread_id: String,
    /// Its id; later ones sort behind earlier ones.
    pub checkpoint_id: String,
    /// The one before it.
    pub parent_checkpoint_id: Option<String>,
    /// What was stored.
    pub checkpoint: Stored,
    /// What was noted with it: the step, the reason.
    pub metadata: Value,
}

/// What a checkpoint holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// The last message.
    pub message: Option<String>,
    /// How many messages there were.
    pub messages: u64,
    /// The state of the session. Its local document is no part of it: going back grants nothing and
    /// revokes nothing.
    pub state: Document,
}

impl Log {
    /// Stores where a session stands.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn checkpoint(&self, session: &str, metadata: Value) -> Result<Checkpoint> {
        let id = session.to_owned();
        self.write(move |connection| {
            let session = session::hold(connection, &id)?;
            let made = add(connection, &session, &metadata)?;
            let row = one(connection, &id, &made)?.ok_or_else(|| connection.race())?;
            of(connection, row)
        })
    }

    /// The checkpoints of a session, oldest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn checkpoints(&self, session: &str) -> Result<Vec<Checkpoint>> {
        self.read(|connection| of_session(connection, session))
    }

    /// Goes back to a checkpoint: to its last message and to what the state was then.
    ///
    /// # Errors
    /// When there is no such checkpoint.
    pub fn restore(&self, session: &str, checkpoint_id: &str) -> Result<Session> {
        let (id, checkpoint_id, now) = (session.to_owned(), checkpoint_id.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let row = one(connection, &id, &checkpoint_id)?;
            let row = row.ok_or_else(|| LogError::Missing {
                what: "checkpoint",
                id: checkpoint_id.clone(),
            })?;
            let Stored { message, state, .. } = of(connection, row)?.checkpoint;
            let tip = match message {
                Some(message) => place(connection, message.parse::<Id>()?)?,
                None => Some(Tip::EMPTY),
            };
            let tip =
                tip.ok_or_else(|| connection.damaged("the message of a checkpoint is missing"))?;
            record(connection, &session, Kind::Restore, tip, now)?;
            connection
                .run("UPDATE session SET state = $1 WHERE id = $2", values![text(&state), &id])?;
            session::load(connection, &id)
        })
    }
}

/// Stores where a session stands, behind its other checkpoints, and returns the new one's id. The
/// caller holds the session.
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
    let place = CheckpointKey {
        session: id,
        checkpoint_id: &checkpoint_id,
        parent: parent.as_ref(),
        tip: session.tip,
    };
    if !put(connection, &place, &session.state, metadata)? {
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

/// Puts in a checkpoint that was made elsewhere; `false` when its id is taken.
pub(crate) fn insert(connection: &mut dyn Connection, made: &Checkpoint, tip: Tip) -> Result<bool> {
    let place = CheckpointKey {
        session: &made.thread_id,
        checkpoint_id: &made.checkpoint_id,
        parent: made.parent_checkpoint_id.as_ref(),
        tip,
    };
    put(connection, &place, &made.checkpoint.state, &made.metadata)
}

/// Which checkpoint it is, and of what.
struct CheckpointKey<'a> {
    session: &'a str,
    checkpoint_id: &'a str,
    parent: Option<&'a String>,
    tip: Tip,
}

/// Puts a checkpoint in; `false` when its id is taken.
fn put(
    connection: &mut dyn Connection,
    place: &CheckpointKey<'_>,
    state: &Document,
    metadata: &Value,
) -> Result<bool> {
    let (snapshot, changes) = against(connection, place.session, state)?;
    let sql = format!(
        "INSERT INTO checkpoint ({ROW}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (thread_id, checkpoint_id) DO NOTHING"
    );
    let Tip { branch, position } = place.tip;
    let values = values![
        place.session,
        place.checkpoint_id,
        place.parent,
        metadata.to_string(),
        branch,
        position,
        snapshot,
        changes
    ];
    Ok(connection.run(&sql, values)? == 1)
}

/// The snapshot that a state is stored against, and what changed since. It is a new one where too
/// much did.
fn against(
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

/// The columns of a row of its own.
const ROW: &str =
    "thread_id, checkpoint_id, parent_checkpoint_id, metadata, branch, position, snapshot, changes";

/// What a [`Checkpoint`] is read from.
const COLUMNS: &str = "c.thread_id, c.checkpoint_id, c.parent_checkpoint_id, c.metadata, c.branch, c.position, \
                       c.changes, s.state \
                       FROM checkpoint c JOIN snapshot s ON s.session = c.thread_id AND s.number = c.snapshot";

pub(crate) fn of_session(
    connection: &mut dyn Connection,
    session: &str,
) -> Result<Vec<Checkpoint>> {
    let sql = format!("SELECT {COLUMNS} WHERE c.thread_id = $1 ORDER BY c.checkpoint_id");
    let rows = connection.rows(&sql, values![session])?;
    rows.into_iter().map(|row| of(connection, row)).collect()
}

fn one(connection: &mut dyn Connection, session: &str, checkpoint_id: &str) -> Result<Option<Row>> {
    let sql = format!("SELECT {COLUMNS} WHERE c.thread_id = $1 AND c.checkpoint_id = $2");
    connection.row(&sql, values![session, checkpoint_id])
}

fn of(connection: &mut dyn Connection, mut row: Row) -> Result<Checkpoint> {
    let checkpoint_id = row.text(1);
    let metadata = serde_json::from_str(&row.text(3));
    let snapshot: Option<Document> = serde_json::from_str(&row.text(7)).ok();
    let state = snapshot.and_then(|snapshot| delta::apply(&snapshot, &row.text(6)));
    let (Some(state), Ok(metadata)) = (state, metadata) else {
        return Err(connection.damaged(format!("checkpoint {checkpoint_id}")));
    };
    let tip = Tip { branch: row.int(4), position: row.count(5) };
    let message = id_at(connection, tip)?.map(|id| id.to_string());
    Ok(Checkpoint {
        thread_id: row.text(0),
        checkpoint_id,
        parent_checkpoint_id: row.maybe_text(2),
        checkpoint: Stored { message, messages: tip.position, state },
        metadata,
    })
}
