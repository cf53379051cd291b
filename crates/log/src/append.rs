//! Appending: the new messages are durable before anything else happens.

use crate::error::{LogError, Result};
use crate::id::Id;
use crate::incoming::Incoming;
use crate::log::Log;
use crate::navigate::{Kind, left, record};
use crate::session::{self, Session};
use crate::store::Connection;
use crate::tree::{Path, Tip, grow, ids_behind, place};

/// What appending gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The session that now ends with the messages; another one than was named when somebody else
    /// had moved that on.
    pub session: String,
    /// Where it stands now.
    pub tip: Tip,
    /// How many of the messages were new to the log.
    pub new: usize,
    /// The ids of the messages.
    pub ids: Vec<Id>,
}

impl Log {
    /// Puts messages behind a session that stands at `at`.
    ///
    /// # Errors
    /// [`LogError::Conflict`] when somebody else has moved it on meanwhile. Nothing is lost by
    /// trying again.
    pub fn append(&self, session: &str, at: Tip, incoming: Vec<Incoming>) -> Result<Appended> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            append_at(connection, &session, at, &incoming, now)
        })
    }

    /// Stores messages behind a session that stands at `at`, and leaves it there: they are on a way
    /// of their own, which can be found and gone to. If somebody else has moved it on meanwhile,
    /// they are in a fork of it. Gives the session as it is then.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn append_aside(&self, session: &str, at: Tip, incoming: Vec<Incoming>) -> Result<Session> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
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

    /// Takes in a whole conversation, from its first message on, as clients send it again with each
    /// call. Only what is new is stored. Where it leaves the way of the session, the session
    /// follows, and can be taken back.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn resend(&self, session: &str, incoming: Vec<Incoming>) -> Result<Appended> {
        let (id, now) = (session.to_owned(), self.now());
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

/// How a session stands to a conversation that it was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It went on with what was new in it.
    Continued,
    /// It had all of it, now or on a way that it left.
    Known,
    /// It went another way, and stays where it is.
    Apart,
}

impl Log {
    /// Offers a whole conversation to a session: the session goes on with it where it goes on from
    /// the session, and is left alone where it does not. This is how recorded conversations are
    /// taken in.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn offer(&self, session: &str, incoming: Vec<Incoming>) -> Result<(Offered, Appended)> {
        let (id, now) = (session.to_owned(), self.now());
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

/// Whether a session stands behind a place, or stood there once.
fn has_been_at(connection: &mut dyn Connection, session: &Session, tip: Tip) -> Result<bool> {
    let mut ways = vec![session.tip];
    ways.extend(left(connection, &session.id)?);
    for way in ways {
        if Path::of(connection, way)?.contains(tip) {
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

pub(crate) fn conflict(session: &Session) -> LogError {
    LogError::Conflict { session: session.id.clone(), position: session.tip.position }
}

/// Whether the session went on from `at` with just these messages: then whoever appends them did so
/// before, and lost the answer.
pub(crate) fn appended_before(
    connection: &mut dyn Connection,
    session: &Session,
    at: Tip,
    incoming: &[Incoming],
) -> Result<Option<Appended>> {
    let ids = ids_behind(connection, at, incoming)?;
    let Some(&last) = ids.last() else { return Ok(None) };
    let path = Path::of(connection, session.tip)?;
    let there = place(connection, last)?.filter(|&tip| path.contains(tip) && path.contains(at));
    Ok(there.map(|_| Appended { session: session.id.clone(), tip: session.tip, new: 0, ids }))
}
