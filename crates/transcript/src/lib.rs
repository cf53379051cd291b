//! Reads and writes the session files of other programs.
//!
//! [`read()`] detects the format from the content and passes each [`Transcript`] to a callback. An
//! invalid line is reported with its number and skipped; the rest of the file is still read. Each
//! format has one file in `format/`; [`mod@write`] has the formats that can be written; [`archive`]
//! imports transcripts into the log and exports sessions from it. This crate only accesses files
//! and the log: it prints nothing and reads no environment variables.

pub mod archive;
mod error;
#[expect(
    clippy::indexing_slicing,
    reason = "a field that a JSON value does not have reads as null"
)]
mod format;
mod notice;
mod read;
mod title;
mod transcript;
pub mod write;

pub use error::TranscriptError;
pub use notice::Notice;
pub use read::{MESSAGES, Report, Source, format_of, read};
pub use transcript::{Compaction, Entry, Transcript, TranscriptKind, Usage};
