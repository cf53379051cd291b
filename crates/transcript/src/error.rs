//! Why a file could not be read as a transcript.

use thiserror::Error;

/// Why a file could not be read as a transcript.
#[derive(Debug, Error)]
pub enum TranscriptError {
    /// The file cannot be read.
    #[error("cannot read {name}")]
    Io {
        /// The file.
        name: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is a database, but not one of ours.
    #[error("cannot read {name} as a database of OpenAI Agents sessions")]
    Database {
        /// The file.
        name: String,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// Nothing in it is a conversation.
    #[error("{name}: {text}")]
    NoConversation {
        /// The file.
        name: String,
        /// What it is instead, and what was expected.
        text: String,
    },
}
