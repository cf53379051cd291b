//! [`Notice`]: a part of a file that was skipped.

use std::fmt;

use waterline::phrase;
use waterline::phrase::Phrase;

/// A part of a file that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notice {
    /// The line number, starting at 1.
    pub line: Option<usize>,
    /// Why it was skipped.
    pub text: Phrase,
}

impl Notice {
    /// Returns the notice with its line number, as a phrase that programs can translate.
    #[must_use]
    pub fn phrase(&self) -> Phrase {
        match self.line {
            Some(line) => phrase!(
                "transcript-line",
                "line {line}: {text}",
                line = line.to_string(),
                text = self.text.clone()
            ),
            None => self.text.clone(),
        }
    }
}

/// Describes a line that is not JSON. The notice about it has its number.
pub(crate) fn invalid_json(error: &serde_json::Error) -> Phrase {
    let message = error.to_string();
    let cause = Phrase::from(message.split(" at line ").next().unwrap_or_default());
    phrase!("parse-not-json", "not JSON: {cause}", cause = cause)
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.phrase().fmt(f)
    }
}
