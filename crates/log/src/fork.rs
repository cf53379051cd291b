//! Forks: sessions that continue from a message of another session. A fork copies no messages.

use crate::clear::add_clear_mark;
use crate::error::{LogError, Result};
use crate::log::Log;
use crate::numbering::numbering;
use crate::refusal::Refusal;
use crate::request_context;
use crate::session::{self, Document, Relation, Session};
use crate::store::{Connection, values};
use crate::tree::{Path, Tip};

impl Log {
    /// Forks a session after its first `position` messages (default: all of them) and returns the
    /// fork. Without an `id`, one is generated.
    ///
    /// The fork shares the messages up to there and copies the settings, the state and the
    /// workspace, but not [`Session::local`].
    ///
    /// # Errors
    /// If the session has fewer messages, or the id is taken or invalid.
    pub fn fork(
        &self,
        session: &str,
        position: Option<u64>,
        id: Option<String>,
    ) -> Result<Session> {
        let from = session.to_owned();
        let now = self.now();
        id.as_deref().map_or(Ok(()), session::check_id)?;
        self.write(move |connection| {
            let session = session::load(connection, &from)?;
            let path = Path::of(connection, session.tip)?;
            let position = position.unwrap_or(session.tip.position);
            let Some(tip) = path.at(position) else {
                let numbering = numbering(connection, &session)?;
                return Err(LogError::Refused(Refusal::Fork {
                    session: from.clone(),
                    at: numbering.count(position),
                    count: numbering.count(session.tip.position),
                }));
            };
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
        request_context: request_context::newest_on(connection, session.request_context, at)?,
        // Approvals and running calls belong to the parent only.
        local: Document::new(),
        created: now,
        active: now,
        ..session.clone()
    };
    if !session::insert(connection, &fork)? {
        return Err(LogError::Exists { id: fork.id });
    }
    copy_clear_marks(connection, session, &fork)?;
    let sql = "INSERT INTO artifact_use (session, hash) \
               SELECT $1, hash FROM artifact_use WHERE session = $2";
    connection.run(sql, values![&fork.id, &session.id])?;
    Ok(fork)
}

/// Copies the clear marks of the parent that lie on the messages it shares with the fork.
fn copy_clear_marks(
    connection: &mut dyn Connection,
    parent: &Session,
    fork: &Session,
) -> Result<()> {
    let path = Path::of(connection, fork.tip)?;
    let sql = "SELECT branch, position, created FROM cut WHERE session = $1";
    for row in connection.rows(sql, values![&parent.id])? {
        let at = Tip { branch: row.int(0), position: row.count(1) };
        if path.contains(at) {
            add_clear_mark(connection, &fork.id, at, row.int(2))?;
        }
    }
    Ok(())
}
