//! Chooses the session an agent works in: a new or an existing one.

use waterline_log::{Log, LogError, Session};

use crate::error::AgentError;

/// The session that an agent works in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// A new session with a generated id.
    #[default]
    New,
    /// The session with this id, which is created if it does not exist.
    Open(String),
    /// The session with this id, which must exist.
    Resume(String),
    /// The session that was used last.
    Latest,
    /// A new session that is a fork of another one.
    Fork {
        /// The session to fork.
        of: String,
        /// How many of its messages the fork starts with; `None` means all.
        at: Option<u64>,
    },
}

impl Start {
    /// Returns the session if it exists. Blocks.
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

    /// Returns the session, created or forked if needed, and whether it is new. A new session
    /// stores `policy`. Blocks.
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
