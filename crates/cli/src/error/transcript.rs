//! Errors of session files of other programs.

use waterline_transcript::TranscriptError;

use crate::phrase::phrase;
use crate::text;

pub(super) fn describe(error: &TranscriptError) -> Option<String> {
    Some(match error {
        TranscriptError::Io { name, .. } => text!("cannot-read", path = name.as_str()),
        TranscriptError::Database { name, .. } => {
            text!("error-transcript-database", name = name.as_str())
        }
        TranscriptError::NotJson { name, line, known } => text!(
            "error-transcript-not-json",
            name = name.as_str(),
            line = *line,
            known = known.as_str()
        ),
        TranscriptError::NoConversation { name, text } => {
            text!("error-with-cause", error = name.as_str(), cause = phrase(text))
        }
        _ => return None,
    })
}
