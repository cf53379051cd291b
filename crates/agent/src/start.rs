//! Chooses the session an agent works in: a new or an existing one.

use waterline_log::{Filter, Log, LogError, Session};

use crate::error::AgentError;

/// How much of a generated id finds a session that must exist.
const MIN_PREFIX: usize = 4;

/// The session that an agent works in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// A new session with a generated id.
    #[default]
    New,
    /// The session with this id, which is created if it does not exist.
    Open(String),
    /// The session with this id, which must exist. Four characters of a generated id are enough if
    /// no other id begins with them.
    Resume(String),
    /// The session of the user that was used last.
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
    /// Returns the session if it exists. Without a user, every session can be opened. Blocks.
    ///
    /// # Errors
    /// When a session must exist and does not, it belongs to another user, or the log cannot be
    /// read.
    pub fn find(&self, log: &Log, user: Option<&str>) -> Result<Option<Session>, AgentError> {
        let found = match self {
            Self::New => None,
            Self::Open(id) => log.lookup(id)?,
            Self::Resume(id) | Self::Fork { of: id, .. } => Some(existing(log, id)?),
            Self::Latest => {
                let filter = Filter { user: user.map(str::to_owned), ..Filter::default() };
                let latest = log.sessions(&filter)?.into_iter().find(Session::is_conversation);
                Some(latest.ok_or(AgentError::NoSession)?)
            }
        };
        match &found {
            Some(session) if is_of_other_user(session, user) => {
                Err(AgentError::OtherUser { session: session.id.clone() })
            }
            _ => Ok(found),
        }
    }

    /// Returns the session, created or forked if needed, and whether it is new. A new session
    /// stores `policy` and the user. Blocks.
    pub(crate) fn session(
        &self,
        log: &Log,
        policy: &str,
        user: Option<&str>,
    ) -> Result<(Session, bool), AgentError> {
        let known = self.find(log, user)?;
        match (self, known) {
            (Self::Fork { at, .. }, Some(of)) => Ok((log.fork(&of.id, *at, None)?, true)),
            (_, Some(session)) => Ok((session, false)),
            (start, None) => {
                let made = match start {
                    Self::Open(id) => Session::new(id),
                    _ => Session::with_new_id(),
                };
                let owner = user.map(str::to_owned);
                let policy = Some(policy.to_owned());
                match log.create(Session { user: owner, policy, ..made }) {
                    // Another process has just created it.
                    Err(LogError::Exists { .. }) => match self.find(log, user)? {
                        Some(session) => Ok((session, false)),
                        None => Err(AgentError::NoSession),
                    },
                    created => Ok((created?, true)),
                }
            }
        }
    }
}

/// Returns the session with an id. As it must exist, a few characters of a generated id are enough.
fn existing(log: &Log, id: &str) -> Result<Session, LogError> {
    if let Some(session) = log.lookup(id)? {
        return Ok(session);
    }
    let found = log.find(id)?;
    match found.has_generated_id() && id.len() >= MIN_PREFIX {
        true => Ok(found),
        false => Err(LogError::NoSession { id: id.to_owned() }),
    }
}

fn is_of_other_user(session: &Session, user: Option<&str>) -> bool {
    user.is_some() && session.user.as_deref().is_some_and(|owner| Some(owner) != user)
}
