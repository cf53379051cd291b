//! The error for input that is not a conversation, with its position.

use thiserror::Error;
use waterline::phrase;
use waterline::phrase::Phrase;

/// Why a text is not a conversation.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line}, column {column}: {text}")]
#[non_exhaustive]
pub struct ParseError {
    /// The line of the text, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong and what was expected.
    pub text: Phrase,
}

impl ParseError {
    /// Creates an error at a line and a column, both from 1.
    #[must_use]
    pub const fn new(line: usize, column: usize, text: Phrase) -> Self {
        Self { line, column, text }
    }

    /// Returns the error as a phrase that programs can translate.
    #[must_use]
    pub fn phrase(&self) -> Phrase {
        phrase!(
            "parse-at",
            "line {line}, column {column}: {text}",
            line = self.line.to_string(),
            column = self.column.to_string(),
            text = self.text.clone()
        )
    }

    /// Creates an error at a byte offset of `source`.
    pub(super) fn at(source: &str, offset: usize, text: impl Into<Phrase>) -> Self {
        let before = source.get(..offset).unwrap_or(source);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line, column, text: text.into() }
    }

    /// Converts a JSON error. Serde counts columns in bytes; people count characters.
    #[must_use]
    pub fn of_json(source: &str, error: &serde_json::Error) -> Self {
        let line = error.line().max(1);
        let start = source.split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>();
        let mut at = (start + error.column().saturating_sub(1)).min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        let message = error.to_string();
        let cause = Phrase::from(message.split(" at line ").next().unwrap_or_default());
        Self::at(source, at, phrase!("parse-not-json", "not JSON: {cause}", cause = cause))
    }

    /// Adds `lines` to the line number, for text that starts later in a file.
    #[must_use]
    pub fn shifted(mut self, lines: usize) -> Self {
        self.line += lines;
        self
    }
}
