//! The errors of a log. Each message says what happened and what to do next.

use std::path::PathBuf;
use std::sync::Arc;

use waterline::phrase;
use waterline::phrase::Phrase;

use crate::refusal::Refusal;

/// An error of a [`Log`](crate::Log).
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The log URL is invalid or its scheme is unsupported.
    #[error(
        "invalid log URL {url:?}; use a file path, sqlite:FILE or postgres://user@host/database"
    )]
    InvalidUrl {
        /// The URL, without a password.
        url: String,
    },
    /// The file or server cannot be opened.
    #[error("cannot open {name}: {text}; check the path or URL and your permissions")]
    Open {
        /// The file or server.
        name: String,
        /// The database's error message.
        text: Phrase,
    },
    /// The file exists but is not a log.
    #[error(
        "{name} is not a waterline log; choose a new file, and `import` the contents of this one"
    )]
    NotALog {
        /// The path or address that was opened.
        name: String,
    },
    /// A newer version of this crate wrote the log.
    #[error(
        "{name} has format {found}, but this version supports formats up to {known}; \
         use a newer waterline"
    )]
    UnsupportedFormat {
        /// The file or server.
        name: String,
        /// The format of the log.
        found: i64,
        /// The newest format that this version supports.
        known: i64,
    },
    /// The log is read-only.
    #[error(
        "{name} is read-only; grant write permission (on its directory too), or work on a copy"
    )]
    ReadOnly {
        /// The file or server.
        name: String,
    },
    /// The disk is full.
    #[error(
        "no space left on the disk of {name}; this write was not stored, earlier data is intact: \
         free some space and retry"
    )]
    DiskFull {
        /// The file or server.
        name: String,
    },
    /// Another process holds the database lock.
    #[error("{name} is locked by another process; wait for it to finish, or stop it")]
    Locked {
        /// The path of the database.
        name: String,
    },
    /// No connection became free within [`Options::wait`](crate::Options::wait).
    #[error(
        "all {connections} connections to {name} were in use for {wait:?}; \
         retry, or raise the connection limit"
    )]
    Busy {
        /// The file or server.
        name: String,
        /// The maximum number of connections of this handle.
        connections: usize,
        /// How long the caller waited.
        wait: std::time::Duration,
    },
    /// A write did not reach the disk. Later writes are refused, because the state of the disk is
    /// no longer certain.
    #[error(
        "a write to {name} failed ({text}) and no more writes are accepted; \
         check the disk and restart: every acknowledged write is stored"
    )]
    Flush {
        /// The path of the database.
        name: String,
        /// The database's error message.
        text: Phrase,
    },
    /// The file of the log was deleted or replaced while it was open.
    #[error(
        "the file {name} was deleted or replaced while it was in use; this write is lost, and no \
         more writes are accepted: restore the file and restart"
    )]
    Deleted {
        /// The path of the database.
        name: String,
    },
    /// Stored data is damaged.
    #[error(
        "{name} is damaged ({text}); verify lists the damage, export saves what is readable, \
         a backup has the rest"
    )]
    Damaged {
        /// The file or server.
        name: String,
        /// What is damaged.
        text: Phrase,
    },
    /// The server cannot be reached, or the connection was lost.
    #[error(
        "no connection to {name} ({text}); is the server running? \
         Appending the same messages again is safe"
    )]
    Connection {
        /// The address of the server, without its password.
        name: String,
        /// The driver's error message.
        text: Phrase,
    },
    /// The database rejected a statement.
    #[error("{name}: {text}")]
    Database {
        /// The file or server.
        name: String,
        /// The database's error message.
        text: Phrase,
    },
    /// The session changed since the caller loaded it.
    #[error(
        "session {session} was modified concurrently (now at position {position}); \
         reload it and retry, or fork it"
    )]
    Conflict {
        /// The id of the session that changed.
        session: String,
        /// How many messages it has now.
        position: u64,
    },
    /// Another process holds the lease of the session.
    #[error(
        "session {session} is in use by another process; wait for it, stop it, or fork the session"
    )]
    Leased {
        /// The id of the session that is in use.
        session: String,
        /// The holder of the lease, as passed to [`Log::take_lease`](crate::Log::take_lease).
        holder: String,
        /// The token of that lease.
        token: i64,
    },
    /// Another process took over the session, because this one did not renew its lease in time.
    #[error(
        "another process took over session {session}; this write was not stored: \
         resume the session to continue"
    )]
    LeaseLost {
        /// The id of the session whose lease was lost.
        session: String,
    },
    /// Two writers collided. The log retries such a write; callers see this only if all retries
    /// failed.
    #[error("write conflict in {name}; retry")]
    WriteConflict {
        /// The file or server.
        name: String,
    },
    /// The session does not exist.
    #[error("session {id:?} not found")]
    NoSession {
        /// The id that was requested.
        id: String,
    },
    /// An id prefix matches several sessions.
    #[error("{prefix:?} matches several sessions: {}; type more of the id", matches.join(", "))]
    Ambiguous {
        /// The prefix that was requested.
        prefix: String,
        /// Some of the matching ids.
        matches: Vec<String>,
    },
    /// A session with this id exists already.
    #[error("session {id:?} already exists")]
    Exists {
        /// The id that is taken.
        id: String,
    },
    /// A requested item, such as a message or an artifact, does not exist.
    #[error("{what} {id} not found")]
    Missing {
        /// The kind of item.
        what: &'static str,
        /// The id or number that was requested.
        id: String,
    },
    /// A message id cannot be parsed.
    #[error("invalid message id {text:?}: expected 64 hexadecimal digits")]
    InvalidId {
        /// The text, truncated.
        text: String,
    },
    /// The request is invalid.
    #[error("{0}")]
    Refused(Refusal),
    /// A line of an export cannot be imported.
    #[error("line {line}: {cause}")]
    Line {
        /// The line number, from 1.
        line: usize,
        /// What is wrong with it.
        cause: Box<LogError>,
    },
    /// A file other than the log, such as a backup, cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
    /// Reading an import or writing an export failed.
    #[error(transparent)]
    Output(Arc<std::io::Error>),
}

impl From<std::io::Error> for LogError {
    fn from(error: std::io::Error) -> Self {
        Self::Output(Arc::new(error))
    }
}

impl LogError {
    /// Returns an error for a request that is refused for another reason than those of [`Refusal`].
    pub(crate) fn refused(why: Phrase) -> Self {
        Self::Refused(Refusal::Other(why))
    }

    /// Returns whether a read can fail with this error because stored data is damaged. A damaged
    /// size, for example, is reported as a value that is too large.
    pub(crate) const fn may_be_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Missing { .. } | Self::Database { .. })
    }

    /// Returns what the error says about damage to stored data.
    pub(crate) fn damage(self) -> Phrase {
        match self {
            Self::Damaged { text, .. } => text,
            Self::Missing { what, id } => phrase!(
                "damage-missing",
                "{what} {id} not found",
                kind = what.replace(' ', "-"),
                what = what,
                id = id
            ),
            other => other.to_string().into(),
        }
    }
}

/// The result of an operation on a log.
pub type Result<T, E = LogError> = std::result::Result<T, E>;
