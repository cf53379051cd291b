//! Finding the session that a person means: by what they typed of its id, or the one used last.

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::session::{Filter, Relation, Session};

/// The length of generated ids, and how much of one is enough to find it.
const GENERATED: usize = 32;
const ENOUGH: usize = 8;

impl Session {
    /// Whether its id was generated and not chosen by a person.
    #[must_use]
    pub fn has_generated_id(&self) -> bool {
        is_generated_id(&self.id)
    }

    /// Whether anything was said in it: its first message is its system prompt.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.tip.position() > 1
    }

    /// Whether a person may look for it: something was said in it, and it does not work for another
    /// session.
    #[must_use]
    pub fn is_conversation(&self) -> bool {
        self.relation != Relation::SubAgent && self.has_begun()
    }
}

/// Whether an id has the form of generated ids.
#[must_use]
pub fn is_generated_id(id: &str) -> bool {
    id.len() == GENERATED && is_hex(id)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Log {
    /// The session that a person means by an id, if it exists. The beginning is enough only for
    /// generated ids: a name that a person chose may be the beginning of another.
    ///
    /// # Errors
    /// When several generated ids begin so, or the log cannot be read.
    pub fn lookup(&self, typed: &str) -> Result<Option<Session>> {
        let is_enough = typed.len() >= ENOUGH && is_hex(typed);
        match self.find(typed) {
            Ok(session) if session.id == typed => Ok(Some(session)),
            Ok(session) if session.has_generated_id() && is_enough => Ok(Some(session)),
            Err(error @ LogError::Ambiguous { .. }) if is_enough => Err(error),
            Ok(_) | Err(LogError::NoSession { .. } | LogError::Ambiguous { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The conversation that was used last, if there is one.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn latest(&self) -> Result<Option<Session>> {
        Ok(self.sessions(&Filter::default())?.into_iter().find(Session::is_conversation))
    }
}
