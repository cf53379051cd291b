//! Why the log refuses a request. [`Display`](fmt::Display) writes English; a program in another
//! language matches on the variant.

use std::fmt;
use std::path::PathBuf;

use waterline::phrase::Phrase;

/// Why the log refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// No rewind of this session can be redone.
    NothingToRedo(String),
    /// This session has not been folded, so no fold can be undone.
    NotFolded(String),
    /// This session is not cleared.
    NotCleared(String),
    /// The message to rewind to is not in the session.
    NotInSession {
        /// The id of the session to rewind.
        session: String,
        /// The start of the message's id.
        message: String,
    },
    /// The session has too few messages to rewind that far.
    TooFarBack {
        /// The id of the session to rewind.
        session: String,
        /// The number of its messages.
        count: u64,
    },
    /// The session has too few turns to rewind by that many.
    TooFewTurns {
        /// The id of the session to rewind.
        session: String,
        /// The number of turns that were asked for.
        asked: u64,
        /// The number of its turns.
        count: u64,
    },
    /// The session cannot be forked at a message that it does not have.
    Fork {
        /// The id of the session to fork.
        session: String,
        /// The number of the message.
        at: u64,
        /// The number of its messages.
        count: u64,
    },
    /// A session id is empty, too long or has control characters; its start.
    SessionId(String),
    /// The file of a backup is the log itself.
    BackupOfItself(PathBuf),
    /// Another reason.
    Other(Phrase),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToRedo(session) => write!(f, "nothing to redo in session {session}"),
            Self::NotFolded(session) => {
                write!(f, "nothing to undo: session {session} has not been folded")
            }
            Self::NotCleared(session) => write!(f, "session {session} is not cleared"),
            Self::NotInSession { session, message } => {
                write!(f, "cannot rewind session {session}: message {message} is not in it")
            }
            Self::TooFarBack { session, count } => {
                let count = messages(*count);
                write!(f, "cannot rewind session {session} that far: it has {count}")
            }
            Self::TooFewTurns { session, asked, count } => {
                let count =
                    if *count == 1 { "1 turn".to_owned() } else { format!("{count} turns") };
                write!(f, "session {session} has only {count}; cannot undo {asked}")
            }
            Self::Fork { session, at, count } => {
                let count = messages(*count);
                write!(f, "cannot fork session {session} at message {at}: it has {count}")
            }
            Self::SessionId(start) => write!(
                f,
                "invalid session id {start:?}: use 1 to 400 bytes without control characters"
            ),
            Self::BackupOfItself(path) => write!(
                f,
                "cannot back up to {}: it is the log itself; choose another file",
                path.display()
            ),
            Self::Other(why) => why.fmt(f),
        }
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self::Other(text.into())
    }
}

/// Returns "1 message" or "5 messages".
pub(crate) fn messages(count: u64) -> String {
    if count == 1 { "1 message".to_owned() } else { format!("{count} messages") }
}
