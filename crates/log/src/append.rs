//! Appends messages to sessions. They are durable when a method returns.

use crate::error::{LogError, Result};
use crate::id::Id;
use crate::incoming::Incoming;
use crate::log::Log;
use crate::navigate::{Kind, left_tips, record};
use crate::session::{self, Relation, Session};
use crate::store::{Connection, values};
use crate::tree::{Path, Tip, grow, ids_after, tip_of};

/// The result of appending messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appended {
    /// The id of the session.
    pub session: String,
    /// The tip of the session. After [`Log::offer`], the tip of the offered conversation.
    pub tip: Tip,
    /// How many of the messages were new to the log.
    pub new: usize,
    /// The ids of the messages.
    pub ids: Vec<Id>,
}

impl Log {
    /// Appends messages to a session whose tip is `at`.
    ///
    /// # Errors
    /// [`LogError::Conflict`] if another writer has moved the session since. A retry is safe: if
    /// the same messages are already stored after `at`, it succeeds and adds nothing.
    pub fn append(&self, session: &str, at: Tip, incoming: Vec<Incoming>) -> Result<Appended> {
        let id = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            append_at(connection, &session, at, &incoming, now)
        })
    }

    /// Stores messages after `at`, the tip of a session, on a side branch: the tip stays at `at`,
    /// and [`Log::branches`] lists the side branch. If another writer has moved the session since,
    /// the messages are stored in a fork. Returns the session as stored. A retry is safe: if the
    /// same messages are already stored there, it adds nothing.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn append_to_side_branch(
        &self,
        session: &str,
        at: Tip,
        incoming: Vec<Incoming>,
    ) -> Result<Session> {
        let id = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            if is_on_side_branch(connection, &session, at, &incoming)? {
                return Ok(session);
            }
            match append_at(connection, &session, at, &incoming, now) {
                Ok(_) => {
                    let moved = session::load(connection, &id)?;
                    record(connection, &moved, Kind::Aside, at, now)?;
                }
                Err(LogError::Conflict { .. }) => {
                    let fork = crate::fork::fork_at(connection, &session, at, None, now)?;
                    append_at(connection, &fork, at, &incoming, now)?;
                }
                Err(error) => return Err(error),
            }
            session::load(connection, &id)
        })
    }

    /// Moves a session to the end of a whole conversation, which clients resend with each call.
    /// Only new messages are stored. If the conversation leaves the session's branch, the move is
    /// recorded and can be undone.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn resend(&self, session: &str, incoming: Vec<Incoming>) -> Result<Appended> {
        let id = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let grown = grow(connection, Tip::EMPTY, &incoming, now)?;
            let path = Path::of(connection, grown.tip)?;
            if !path.contains(session.tip) {
                record(connection, &session, Kind::Resend, grown.tip, now)?;
            } else if !session::advance(connection, &session, grown.tip, now)? {
                return Err(connection.race());
            }
            Ok(Appended { session: session.id, tip: grown.tip, new: grown.new, ids: grown.ids })
        })
    }
}

/// How an offered conversation relates to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Offered {
    /// It continues the session, and its new messages were appended.
    Continued,
    /// The session has all of it, on its current branch or on one that it has left.
    Known,
    /// It diverges from the session, which was not moved.
    Apart,
}

impl Log {
    /// Offers a whole conversation to a session, as imports of recorded conversations do. The
    /// session moves to its end only if the conversation continues the session. The messages are
    /// stored in any case.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn offer(&self, session: &str, incoming: Vec<Incoming>) -> Result<(Offered, Appended)> {
        let id = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let grown = grow(connection, Tip::EMPTY, &incoming, now)?;
            let offered = if has_been_at(connection, &session, grown.tip)? {
                Offered::Known
            } else if Path::of(connection, grown.tip)?.contains(session.tip) {
                if !session::advance(connection, &session, grown.tip, now)? {
                    return Err(connection.race());
                }
                Offered::Continued
            } else {
                Offered::Apart
            };
            Ok((
                offered,
                Appended { session: session.id, tip: grown.tip, new: grown.new, ids: grown.ids },
            ))
        })
    }
}

/// Returns whether a tip is on the current branch of a session or on one that it has left.
fn has_been_at(connection: &mut dyn Connection, session: &Session, tip: Tip) -> Result<bool> {
    let mut ends = vec![session.tip];
    ends.extend(left_tips(connection, &session.id)?);
    for end in ends {
        if Path::of(connection, end)?.contains(tip) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn append_at(
    connection: &mut dyn Connection,
    session: &Session,
    at: Tip,
    incoming: &[Incoming],
    now: i64,
) -> Result<Appended> {
    if session.tip != at {
        return appended_before(connection, session, at, incoming)?
            .ok_or_else(|| conflict(session));
    }
    let grown = grow(connection, at, incoming, now)?;
    if !session::advance(connection, session, grown.tip, now)? {
        return Err(conflict(&session::load(connection, &session.id)?));
    }
    Ok(Appended { session: session.id.clone(), tip: grown.tip, new: grown.new, ids: grown.ids })
}

/// Returns whether messages after `at` are already on a branch that the session has left, or at the
/// end of a fork of it. Their writer retries because it never received the reply.
fn is_on_side_branch(
    connection: &mut dyn Connection,
    session: &Session,
    at: Tip,
    incoming: &[Incoming],
) -> Result<bool> {
    let Some(&last) = ids_after(connection, at, incoming)?.last() else { return Ok(true) };
    let Some(tip) = tip_of(connection, last)? else { return Ok(false) };
    let sql = "SELECT COUNT(*) FROM session \
               WHERE parent = $1 AND relation = $2 AND branch = $3 AND position = $4";
    let values = values![&session.id, Relation::Fork.name(), tip.branch, tip.position];
    Ok(left_tips(connection, &session.id)?.contains(&tip) || connection.number(sql, values)? > 0)
}

pub(crate) fn conflict(session: &Session) -> LogError {
    LogError::Conflict { session: session.id.clone(), position: session.tip.position }
}

/// Returns the result of an earlier append of the same messages at `at`, if there was one. Its
/// caller retries because it never received the reply.
pub(crate) fn appended_before(
    connection: &mut dyn Connection,
    session: &Session,
    at: Tip,
    incoming: &[Incoming],
) -> Result<Option<Appended>> {
    let ids = ids_after(connection, at, incoming)?;
    let Some(&last) = ids.last() else { return Ok(None) };
    let path = Path::of(connection, session.tip)?;
    let found = tip_of(connection, last)?.filter(|&tip| path.contains(tip) && path.contains(at));
    Ok(found.map(|_| Appended { session: session.id.clone(), tip: session.tip, new: 0, ids }))
}
