//! Clear marks: messages before a mark are kept but not sent to the model.

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::refusal::Refusal;
use crate::session::{self, Session};
use crate::store::{Connection, values};
use crate::tree::{Path, Tip};

impl Log {
    /// Clears a session without deleting any message: its messages so far are no longer sent to the
    /// model. Rewinding to before the mark undoes it.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn clear(&self, session: &str) -> Result<()> {
        let id = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            add_clear_mark(connection, &id, session.tip, now)?;
            // The stored request context contains the cleared messages.
            forget_sent(connection, &id, now)
        })
    }

    /// Removes the newest mark that [`Log::clear`] set.
    ///
    /// # Errors
    /// If the session is not cleared.
    pub fn undo_clear(&self, session: &str) -> Result<()> {
        let id = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let Some(mark) = newest_mark(connection, &session)? else {
                return Err(LogError::Refused(Refusal::NotCleared(id.clone())));
            };
            let sql = "DELETE FROM cut WHERE session = $1 AND branch = $2 AND position = $3";
            connection.run(sql, values![&id, mark.branch, mark.position])?;
            // The stored request context counts messages from the mark.
            forget_sent(connection, &id, now)
        })
    }

    /// Returns how many messages at the start of a session are not sent because it was cleared.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn cleared(&self, session: &str) -> Result<u64> {
        self.read(|connection| {
            let session = session::load(connection, session)?;
            cleared(connection, &session)
        })
    }
}

/// Adds a mark unless it exists.
pub(crate) fn add_clear_mark(
    connection: &mut dyn Connection,
    session: &str,
    at: Tip,
    time: i64,
) -> Result<()> {
    let sql = "INSERT INTO cut (session, branch, position, created) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (session, branch, position) DO NOTHING";
    connection.run(sql, values![session, at.branch, at.position, time]).map(drop)
}

fn forget_sent(connection: &mut dyn Connection, session: &str, now: i64) -> Result<()> {
    connection
        .run("UPDATE session SET frozen = NULL, active = $2 WHERE id = $1", values![session, now])
        .map(drop)
}

/// Returns how many messages at the start of a session are not sent.
pub(crate) fn cleared(connection: &mut dyn Connection, session: &Session) -> Result<u64> {
    Ok(newest_mark(connection, session)?.map_or(0, |mark| mark.position))
}

/// Returns the newest mark on the current branch of a session.
fn newest_mark(connection: &mut dyn Connection, session: &Session) -> Result<Option<Tip>> {
    let path = Path::of(connection, session.tip)?;
    Ok(marks(connection, session, &path)?.into_iter().max_by_key(|mark| mark.position))
}

/// Returns the marks of a session on a path, in no particular order.
pub(crate) fn marks(
    connection: &mut dyn Connection,
    session: &Session,
    path: &Path,
) -> Result<Vec<Tip>> {
    let sql = "SELECT branch, position FROM cut WHERE session = $1";
    let rows = connection.rows(sql, values![&session.id])?;
    let marks = rows.iter().map(|row| Tip { branch: row.int(0), position: row.count(1) });
    Ok(marks.filter(|&mark| path.contains(mark)).collect())
}
