//! Forks: a session that goes on from a message of another one. It costs a tip, not a copy.

use crate::clear::add_cut;
use crate::error::{LogError, Result};
use crate::frozen;
use crate::log::Log;
use crate::session::{self, Document, Relation, Session};
use crate::store::{Connection, values};
use crate::tree::{Path, Tip};

impl Log {
    /// Makes a session that goes on from another one, at a place (its end, if none is given), under
    /// an id (a new one, if none is given).
    ///
    /// # Errors
    /// When the session has no such place, or the id is taken.
    pub fn fork(
        &self,
        session: &str,
        position: Option<u64>,
        id: Option<String>,
    ) -> Result<Session> {
        let (from, now) = (session.to_owned(), self.now());
        id.as_deref().map_or(Ok(()), session::check_id)?;
        self.write(move |connection| {
            let session = session::load(connection, &from)?;
            let path = Path::of(connection, session.tip)?;
            let position = position.unwrap_or(session.tip.position);
            let tip = path.at(position).ok_or_else(|| {
                let text =
                    format!("session {from} has {} messages, not {position}", session.tip.position);
                LogError::Refused(text)
            })?;
            fork_at(connection, &session, tip, id.clone(), now)
        })
    }
}

pub(crate) fn fork_at(
    connection: &mut dyn Connection,
    session: &Session,
    at: Tip,
    id: Option<String>,
    now: i64,
) -> Result<Session> {
    let fork = Session {
        id: id.unwrap_or_else(|| Session::with_new_id().id),
        parent: Some(session.id.clone()),
        relation: Relation::Fork,
        tip: at,
        frozen: frozen::newest_on(connection, session.frozen, at)?,
        // Consent and calls under way are its parent's.
        local: Document::new(),
        created: now,
        active: now,
        ..session.clone()
    };
    if !session::insert(connection, &fork)? {
        return Err(LogError::Exists { id: fork.id });
    }
    copy_cuts(connection, session, &fork)?;
    let sql = "INSERT INTO artifact_use (session, hash) SELECT $1, hash FROM artifact_use WHERE session = $2";
    connection.run(sql, values![&fork.id, &session.id])?;
    Ok(fork)
}

/// The fork has been cleared wherever its parent was, on the way that they share.
fn copy_cuts(connection: &mut dyn Connection, session: &Session, fork: &Session) -> Result<()> {
    let path = Path::of(connection, fork.tip)?;
    let cuts = connection.rows(
        "SELECT branch, position, created FROM cut WHERE session = $1",
        values![&session.id],
    )?;
    for cut in cuts {
        let at = Tip { branch: cut.int(0), position: cut.count(1) };
        if path.contains(at) {
            add_cut(connection, &fork.id, at, cut.int(2))?;
        }
    }
    Ok(())
}
