//! Input that is no conversation, with the place where that shows.

use thiserror::Error;

/// Why a text is no conversation.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line}, column {column}: {text}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what was expected.
    pub text: String,
}

impl ParseError {
    /// An error at a byte of `source`.
    pub(super) fn at(source: &str, offset: usize, text: impl Into<String>) -> Self {
        let before = source.get(..offset).unwrap_or(source);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line, column, text: text.into() }
    }

    /// The same error, in a file that begins `lines` lines earlier.
    #[must_use]
    pub fn shifted(mut self, lines: usize) -> Self {
        self.line += lines;
        self
    }
}

impl From<serde_json::Error> for ParseError {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        let text = text.split(" at line ").next().unwrap_or_default();
        Self { line: error.line().max(1), column: error.column().max(1), text: format!("not JSON: {text}") }
    }
}
