//! Which session an agent works in: a new one, or one that exists.

use waterline_log::{Log, LogError, Session};

use crate::error::AgentError;

/// The session that an agent works in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// A new session under a generated id.
    #[default]
    New,
    /// The session of this id; one that does not exist is created under it.
    Open(String),
    /// The session of this id, which must exist.
    Resume(String),
    /// The conversation that was used last.
    Latest,
    /// A new session that continues another one, after its first `at` messages or after all.
    Fork {
        /// The session that it continues.
        of: String,
        /// How many of its messages it begins with; all if none.
        at: Option<u64>,
    },
}

impl Start {
    /// The session that exists, if one does. Blocks.
    ///
    /// # Errors
    /// When a session must exist and does not, or the log cannot be read.
    pub fn find(&self, log: &Log) -> Result<Option<Session>, AgentError> {
        match self {
            Self::New => Ok(None),
            Self::Open(id) => Ok(log.lookup(id)?),
            Self::Resume(id) | Self::Fork { of: id, .. } => match log.lookup(id)? {
                Some(session) => Ok(Some(session)),
                None => Err(LogError::NoSession { id: id.clone() }.into()),
            },
            Self::Latest => match log.latest()? {
                Some(session) => Ok(Some(session)),
                None => Err(AgentError::NothingToResume),
            },
        }
    }

    /// The session, created or forked if need be, and whether it is new. A new session stores
    /// `policy`. Blocks.
    pub(crate) fn session(&self, log: &Log, policy: &str) -> Result<(Session, bool), AgentError> {
        let known = self.find(log)?;
        match (self, known) {
            (Self::Fork { at, .. }, Some(of)) => Ok((log.fork(&of.id, *at, None)?, true)),
            (_, Some(session)) => Ok((session, false)),
            (start, None) => {
                let made = match start {
                    Self::Open(id) => Session::new(id),
                    _ => Session::with_new_id(),
                };
                Ok((log.create(Session { policy: Some(policy.to_owned()), ..made })?, true))
            }
        }
    }
}
