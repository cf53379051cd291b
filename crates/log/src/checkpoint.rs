//! Checkpoints: where a session stood and what it carried after each step, so that any of them can be restored. The
//! oldest are thinned out; the messages never are.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{LogError, Result};
use crate::id::Id;
use crate::log::Log;
use crate::session::{self, Session};
use crate::state::State;
use crate::store::{Connection, Row, values};
use crate::travel::{Kind, record};
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
    /// What was noted beside it: the step, the reason.
    pub metadata: Value,
}

/// What a checkpoint holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// The last message.
    pub message: Option<String>,
    /// How many messages there were.
    pub messages: u64,
    /// What the session carried.
    pub state: State,
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
            let newest =
                connection.row("SELECT MAX(checkpoint_id) FROM checkpoint WHERE thread_id = $1", values![&id])?;
            let parent_checkpoint_id = newest.and_then(|mut row| row.maybe_text(0));
            let number: u64 = parent_checkpoint_id.as_ref().and_then(|id| id.parse().ok()).unwrap_or(0) + 1;
            let made = Checkpoint {
                thread_id: id.clone(),
                checkpoint_id: format!("{number:012}"),
                parent_checkpoint_id,
                checkpoint: stored(connection, session)?,
                metadata: metadata.clone(),
            };
            if !insert(connection, &made)? {
                return Err(connection.race());
            }
            let sql = "DELETE FROM checkpoint WHERE thread_id = $1 AND checkpoint_id <= $2";
            connection.run(sql, values![&id, format!("{:012}", number.saturating_sub(CHECKPOINTS))])?;
            Ok(made)
        })
    }

    /// The checkpoints of a session, oldest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn checkpoints(&self, session: &str) -> Result<Vec<Checkpoint>> {
        self.read(|connection| of_session(connection, session))
    }

    /// Goes back to a checkpoint: to its last message and to what the session carried then.
    ///
    /// # Errors
    /// When there is no such checkpoint.
    pub fn restore(&self, session: &str, checkpoint_id: &str) -> Result<Session> {
        let (id, checkpoint_id, now) = (session.to_owned(), checkpoint_id.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let sql = format!("SELECT {COLUMNS} FROM checkpoint WHERE thread_id = $1 AND checkpoint_id = $2");
            let row = connection.row(&sql, values![&id, &checkpoint_id])?;
            let row = row.ok_or_else(|| LogError::Missing { what: "checkpoint", id: checkpoint_id.clone() })?;
            let Stored { message, state, .. } = of(connection, row)?.checkpoint;
            let tip = match message {
                Some(message) => place(connection, message.parse::<Id>()?)?,
                None => Some(Tip::EMPTY),
            };
            let tip = tip.ok_or_else(|| connection.damaged("the message of a checkpoint is missing"))?;
            record(connection, &session, Kind::Restore, tip, now)?;
            connection.run("UPDATE session SET state = $1 WHERE id = $2", values![state.json(), &id])?;
            session::load(connection, &id)
        })
    }
}

const COLUMNS: &str = "thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata";

pub(crate) fn of_session(connection: &mut dyn Connection, session: &str) -> Result<Vec<Checkpoint>> {
    let sql = format!("SELECT {COLUMNS} FROM checkpoint WHERE thread_id = $1 ORDER BY checkpoint_id");
    let rows = connection.rows(&sql, values![session])?;
    rows.into_iter().map(|row| of(connection, row)).collect()
}

fn stored(connection: &mut dyn Connection, session: Session) -> Result<Stored> {
    let message = id_at(connection, session.tip)?.map(|id| id.to_string());
    Ok(Stored { message, messages: session.tip.position, state: session.state })
}

/// Puts a checkpoint in; `false` when its id is taken.
pub(crate) fn insert(connection: &mut dyn Connection, made: &Checkpoint) -> Result<bool> {
    let sql = format!(
        "INSERT INTO checkpoint ({COLUMNS}) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (thread_id, checkpoint_id) DO NOTHING"
    );
    let checkpoint = serde_json::to_vec(&made.checkpoint).unwrap_or_default();
    let metadata = serde_json::to_vec(&made.metadata).unwrap_or_default();
    let parent = made.parent_checkpoint_id.as_ref();
    Ok(connection.run(&sql, values![&made.thread_id, &made.checkpoint_id, parent, checkpoint, metadata])? == 1)
}

fn of(connection: &mut dyn Connection, mut row: Row) -> Result<Checkpoint> {
    let checkpoint = serde_json::from_slice(&row.bytes(3));
    let metadata = serde_json::from_slice(&row.bytes(4));
    let (Ok(checkpoint), Ok(metadata)) = (checkpoint, metadata) else {
        return Err(connection.damaged(format!("checkpoint {}", row.text(1))));
    };
    Ok(Checkpoint {
        thread_id: row.text(0),
        checkpoint_id: row.text(1),
        parent_checkpoint_id: row.maybe_text(2),
        checkpoint,
        metadata,
    })
}
