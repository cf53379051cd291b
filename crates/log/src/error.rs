//! What can go wrong, each with what a person can do about it.

use std::path::PathBuf;
use std::sync::Arc;

/// Anything that can go wrong with a log.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LogError {
    /// The address is none that is known.
    #[error(
        "{url:?} is no address of a log; give a file, sqlite:FILE or postgres://user@host/database"
    )]
    Address {
        /// What was given, without a password.
        url: String,
    },
    /// The file cannot be opened.
    #[error("cannot open {name}: {text}; is the path right, and may you read and write it?")]
    Open {
        /// The file or server.
        name: String,
        /// What the database said.
        text: String,
    },
    /// The file is a database of some other program, or something else.
    #[error(
        "{name} is no log of this program; give the name of a new file, and `import` what this one holds"
    )]
    Foreign {
        /// The file.
        name: String,
    },
    /// A newer program wrote it.
    #[error(
        "{name} has format {found}, and this program knows formats up to {known}; use a newer waterline"
    )]
    Newer {
        /// The file or server.
        name: String,
        /// Its format.
        found: i64,
        /// The newest format that is known.
        known: i64,
    },
    /// It can only be read.
    #[error(
        "{name} can only be read; give it write permission (the folder too), or work on a copy"
    )]
    ReadOnly {
        /// The file or server.
        name: String,
    },
    /// There is no room left.
    #[error(
        "no room left on the disk of {name}; this was not written, and everything stored before is still there: free some space and try again"
    )]
    Full {
        /// The file or server.
        name: String,
    },
    /// Another process holds it.
    #[error("{name} is locked by another process; wait until it is done, or end it")]
    Locked {
        /// The file.
        name: String,
    },
    /// All connections were in use for too long.
    #[error(
        "all {connections} connections to {name} were in use for {wait:?}; try again, or allow more connections"
    )]
    Busy {
        /// The file or server.
        name: String,
        /// How many connections there may be.
        connections: usize,
        /// How long it waited.
        wait: std::time::Duration,
    },
    /// A write did not reach the disk: what comes after it might not either.
    #[error(
        "a write to {name} failed and nothing more is written ({text}); check the disk, then start again: everything acknowledged before is stored"
    )]
    Flush {
        /// The file.
        name: String,
        /// What the database said.
        text: String,
    },
    /// The stored bytes are damaged.
    #[error(
        "{name} is damaged ({text}); verify lists the damage, export saves what can be read, a backup has the rest"
    )]
    Damaged {
        /// The file or server.
        name: String,
        /// What is damaged.
        text: String,
    },
    /// The server cannot be reached, or went away.
    #[error(
        "no connection to {name} ({text}); is the server running? Appending the same again is safe"
    )]
    Connection {
        /// The server.
        name: String,
        /// What the driver said.
        text: String,
    },
    /// The database refused a statement.
    #[error("{name}: {text}")]
    Database {
        /// The file or server.
        name: String,
        /// What it said.
        text: String,
    },
    /// Somebody else moved the session meanwhile.
    #[error(
        "session {session} has moved on to message {position} meanwhile; read what is new and try again, or fork"
    )]
    Conflict {
        /// The session.
        session: String,
        /// The number of messages it has now.
        position: u64,
    },
    /// Another process works in the session.
    #[error(
        "session {session} is in use by another process; wait for it or end it, or fork the session"
    )]
    Leased {
        /// The session.
        session: String,
        /// The holder of its lease, in its own words.
        holder: String,
        /// The number of that lease.
        token: i64,
    },
    /// Another process took over the session, because this one did not renew its lease in time.
    #[error(
        "another process took over session {session} meanwhile; nothing of this was written: resume the session"
    )]
    LeaseLost {
        /// The session.
        session: String,
    },
    /// Two writers met; the operation is tried again.
    #[error("two writers met in {name}; try again")]
    Race {
        /// The file or server.
        name: String,
    },
    /// There is no such session.
    #[error("there is no session {id:?}")]
    NoSession {
        /// What was asked for.
        id: String,
    },
    /// A prefix fits several sessions.
    #[error("{prefix:?} fits several sessions: {}; give more of the id", matches.join(", "))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// Some that fit.
        matches: Vec<String>,
    },
    /// A session of this id is there already.
    #[error("there is a session {id:?} already")]
    Exists {
        /// The id.
        id: String,
    },
    /// Something that was asked for is not there.
    #[error("there is no {what} {id}")]
    Missing {
        /// What.
        what: &'static str,
        /// Which.
        id: String,
    },
    /// An id that is none.
    #[error("{text:?} is no id of a message: 64 hexadecimal digits")]
    NoId {
        /// What was given.
        text: String,
    },
    /// A request that makes no sense.
    #[error("{0}")]
    Refused(String),
    /// A line of an export that cannot be read.
    #[error("line {line}: {text}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        text: String,
    },
    /// A file beside the log.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// The reader of what is handed over stopped.
    #[error(transparent)]
    Output(Arc<std::io::Error>),
}

impl From<std::io::Error> for LogError {
    fn from(error: std::io::Error) -> Self {
        Self::Output(Arc::new(error))
    }
}

/// What an operation on a log gives.
pub type Result<T, E = LogError> = std::result::Result<T, E>;
