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
        /// What SQLite reports.
        #[source]
        source: rusqlite::Error,
    },
    /// The file is text of another kind.
    #[error(
        "{name} is not a session file in a supported format (line {line}: not JSON); supported \
         formats: {known}"
    )]
    NotJson {
        /// The file's name.
        name: String,
        /// The first line that is not blank.
        line: usize,
        /// The formats that can be read, as a list.
        known: String,
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
