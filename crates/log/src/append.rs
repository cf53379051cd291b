//! Appending: the new messages are durable before anything else happens.

use crate::error::{LogError, Result};
use crate::id::Id;
use crate::incoming::Incoming;
use crate::log::Log;
use crate::session::{self, Session};
use crate::store::{Connection, values};
use crate::travel::{Kind, record};
use crate::tree::{Path, Tip, grow};

/// What appending gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The session that now ends with the messages; another one than was named when somebody else had moved that on.
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
    /// [`LogError::Conflict`] when somebody else has moved it on meanwhile. Nothing is lost by trying again.
    pub fn append(&self, session: &str, at: Tip, incoming: Vec<Incoming>) -> Result<Appended> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            append_at(connection, &session, at, &incoming, now)
        })
    }

    /// Puts messages behind a session that stands at `at`; if somebody else has moved it on meanwhile, behind a fork of it.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn append_or_fork(&self, session: &str, at: Tip, incoming: Vec<Incoming>) -> Result<Appended> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            match append_at(connection, &session, at, &incoming, now) {
                Err(LogError::Conflict { .. }) => {
                    let fork = crate::fork::fork_at(connection, &session, at, None, now)?;
                    append_at(connection, &fork, at, &incoming, now)
                }
                outcome => outcome,
            }
        })
    }

    /// Takes in a whole conversation, from its first message on, as clients send it again with each call. Only what is new
    /// is stored. Where it leaves the way of the session, the session follows, and can be taken back.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn resend(&self, session: &str, incoming: Vec<Incoming>) -> Result<Appended> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let grown = grow(connection, Tip::EMPTY, &incoming, now)?;
            let path = Path::of(connection, grown.tip)?;
            if path.contains(session.tip) {
                session::set_tip(connection, &session, grown.tip, session.frozen, now)?;
            } else {
                record(connection, &session, Kind::Resend, grown.tip, now)?;
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
    /// It had all of it.
    Known,
    /// It went another way, and stays where it is.
    Apart,
}

impl Log {
    /// Offers a whole conversation to a session: the session goes on with it where it goes on from the session, and is
    /// left alone where it does not. This is how recorded conversations are taken in.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn offer(&self, session: &str, incoming: Vec<Incoming>) -> Result<(Offered, Appended)> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let grown = grow(connection, Tip::EMPTY, &incoming, now)?;
            let offered = if grown.tip == session.tip {
                Offered::Known
            } else if Path::of(connection, grown.tip)?.contains(session.tip) {
                session::set_tip(connection, &session, grown.tip, session.frozen, now)?;
                Offered::Continued
            } else if Path::of(connection, session.tip)?.contains(grown.tip) {
                Offered::Known
            } else {
                Offered::Apart
            };
            Ok((offered, Appended { session: session.id, tip: grown.tip, new: grown.new, ids: grown.ids }))
        })
    }
}

fn append_at(
    connection: &mut dyn Connection,
    session: &Session,
    at: Tip,
    incoming: &[Incoming],
    now: i64,
) -> Result<Appended> {
    if session.tip != at {
        return Err(LogError::Conflict { session: session.id.clone(), position: session.tip.position });
    }
    let grown = grow(connection, at, incoming, now)?;
    match session::set_tip(connection, session, grown.tip, session.frozen, now) {
        Err(LogError::Race { .. }) => {
            let sql = "SELECT position FROM session WHERE id = $1";
            let position = connection.row(sql, values![&session.id])?.map_or(0, |row| row.count(0));
            Err(LogError::Conflict { session: session.id.clone(), position })
        }
        outcome => {
            outcome.map(|()| Appended { session: session.id.clone(), tip: grown.tip, new: grown.new, ids: grown.ids })
        }
    }
}
