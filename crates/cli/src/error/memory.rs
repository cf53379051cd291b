//! Errors of the memory.

use waterline_memory::NoteError;

use super::system::io_error;
use crate::text;

/// Describes why the memory was not read or written.
pub fn describe(error: &NoteError) -> String {
    match error {
        NoteError::Secret => text!("memory-secret"),
        NoteError::Empty => text!("memory-nothing"),
        NoteError::NoSuchNote { number, count } => {
            text!("memory-no-such", number = *number, count = *count)
        }
        NoteError::Io(error) => io_error(error),
        other => other.to_string(),
    }
}
