//! Session files of other programs, read as conversations and written again.
//!
//! [`read()`] tells the format from the content and hands over one [`Transcript`] after the other;
//! a line that is broken is reported with its number and skipped, never the file. One file a format
//! in `format/`; [`mod@write`] has the formats that can be written; [`archive`] imports transcripts
//! into the log and exports sessions from it. This crate reads files and the log and nothing else:
//! it prints nothing and reads no environment.

pub mod archive;
mod error;
#[expect(
    clippy::indexing_slicing,
    reason = "a field that a JSON value does not have reads as null"
)]
mod format;
mod notice;
mod read;
mod transcript;
pub mod write;

pub use error::TranscriptError;
pub use notice::Notice;
pub use read::{MESSAGES, Report, Source, format_of, read};
pub use transcript::{Compaction, Entry, Standing, Transcript, Usage};
