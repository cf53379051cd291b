//! Clear marks: what was said before one is kept and not sent.

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::session::{self, Session};
use crate::store::{Connection, values};
use crate::tree::{Path, Tip};

impl Log {
    /// Clears a session without deleting anything: what has been said so far is no longer sent.
    /// Rewinding behind the mark takes it back.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn cut(&self, session: &str) -> Result<()> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            add_cut(connection, &id, session.tip, now)?;
            // What was sent belongs to what is now cleared.
            forget_sent(connection, &id, now)
        })
    }

    /// Takes the newest mark of [`Log::cut`] away.
    ///
    /// # Errors
    /// When there is none.
    pub fn uncut(&self, session: &str) -> Result<()> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let Some(cut) = newest_cut(connection, &session)? else {
                return Err(LogError::Refused(format!("session {id} was not cleared")));
            };
            let sql = "DELETE FROM cut WHERE session = $1 AND branch = $2 AND position = $3";
            connection.run(sql, values![&id, cut.branch, cut.position])?;
            // What was sent is counted from the mark on.
            forget_sent(connection, &id, now)
        })
    }

    /// How many messages at the beginning of a session are not sent because it was cleared.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn cleared(&self, session: &str) -> Result<u64> {
        self.read(|connection| {
            let session = session::load(connection, session)?;
            cleared(connection, &session)
        })
    }
}

/// Puts a mark, unless it is there.
pub(crate) fn add_cut(
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

/// How many messages at the beginning of a session are not sent.
pub(crate) fn cleared(connection: &mut dyn Connection, session: &Session) -> Result<u64> {
    Ok(newest_cut(connection, session)?.map_or(0, |cut| cut.position))
}

/// The newest mark that lies on the way to where a session stands.
fn newest_cut(connection: &mut dyn Connection, session: &Session) -> Result<Option<Tip>> {
    // Few sessions were ever cleared: the database need not prepare to sort.
    let sql = "SELECT branch, position FROM cut WHERE session = $1";
    let rows = connection.rows(sql, values![&session.id])?;
    if rows.is_empty() {
        return Ok(None);
    }
    let path = Path::of(connection, session.tip)?;
    let cuts = rows.iter().map(|row| Tip { branch: row.int(0), position: row.count(1) });
    Ok(cuts.filter(|&cut| path.contains(cut)).max_by_key(|cut| cut.position))
}
