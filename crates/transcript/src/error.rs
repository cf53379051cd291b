//! [`TranscriptError`]: why a file cannot be read as a transcript.

use thiserror::Error;
use waterline::phrase::Phrase;

/// An error that makes a whole file unreadable.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The file cannot be read.
    #[error("cannot read {name}")]
    Io {
        /// The file's name.
        name: String,
        /// The I/O error.
        #[source]
        source: std::io::Error,
    },
    /// The file is an SQLite database without OpenAI Agents sessions.
    #[error("{name} is an SQLite database, but not one of OpenAI Agents sessions")]
    Database {
        /// The file's name.
        name: String,
        /// The database error.
        #[source]
        source: rusqlite::Error,
    },
    /// The file contains no conversation.
    #[error("{name}: {text}")]
    NoConversation {
        /// The file's name.
        name: String,
        /// The reason, and what was expected.
        text: Phrase,
    },
}
