//! Finds a session by the part of its id that a user typed, or the session used last.

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::session::{Filter, Relation, Session};

/// The length of generated ids.
const GENERATED_LENGTH: usize = 32;

/// The length of a prefix that is enough to find a generated id.
const MIN_PREFIX: usize = 8;

impl Session {
    /// Returns whether the id was generated, not chosen by a user.
    #[must_use]
    pub fn has_generated_id(&self) -> bool {
        is_generated_id(&self.id)
    }

    /// Returns whether the session has messages besides its first, the system prompt.
    #[must_use]
    pub fn has_messages(&self) -> bool {
        self.tip.position() > 1
    }

    /// Returns whether the session has no message of the user, as after a program that was killed
    /// before the first message.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        !self.has_messages() && self.title.is_empty()
    }

    /// Returns whether a user may look for the session: it has messages, and it is not the session
    /// of a sub-agent.
    #[must_use]
    pub fn is_conversation(&self) -> bool {
        self.relation != Relation::SubAgent && self.has_messages()
    }
}

/// Returns whether an id has the form of generated ids.
#[must_use]
pub fn is_generated_id(id: &str) -> bool {
    id.len() == GENERATED_LENGTH && is_hex(id)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Log {
    /// Returns the session that a user means by an id, if it exists. A prefix is enough only for a
    /// generated id: a name that a user chose may be the prefix of another name.
    ///
    /// # Errors
    /// If the prefix matches several ids, or the log cannot be read.
    pub fn lookup(&self, typed: &str) -> Result<Option<Session>> {
        let is_long_enough = typed.len() >= MIN_PREFIX && is_hex(typed);
        match self.find(typed) {
            Ok(session) if session.id == typed => Ok(Some(session)),
            Ok(session) if session.has_generated_id() && is_long_enough => Ok(Some(session)),
            Err(error @ LogError::Ambiguous { .. }) if is_long_enough => Err(error),
            Ok(_) | Err(LogError::NoSession { .. } | LogError::Ambiguous { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the conversation that was used last, if there is one.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn latest(&self) -> Result<Option<Session>> {
        Ok(self.sessions(&Filter::default())?.into_iter().find(Session::is_conversation))
    }
}
