//! The error for input that is not a conversation, with its position.

use thiserror::Error;

/// Why a text is not a conversation.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line}, column {column}: {text}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong and what was expected.
    pub text: String,
}

impl ParseError {
    /// Creates an error at a byte offset of `source`.
    pub(super) fn at(source: &str, offset: usize, text: impl Into<String>) -> Self {
        let before = source.get(..offset).unwrap_or(source);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line, column, text: text.into() }
    }

    /// Converts a JSON error. Serde counts columns in bytes; people count characters.
    pub(super) fn of_json(source: &str, error: &serde_json::Error) -> Self {
        let line = error.line().max(1);
        let start = source.split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>();
        let mut at = (start + error.column().saturating_sub(1)).min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        let text = error.to_string();
        let text = text.split(" at line ").next().unwrap_or_default();
        Self::at(source, at, format!("not JSON: {text}"))
    }

    /// Adds `lines` to the line number, for text that starts later in a file.
    #[must_use]
    pub fn shifted(mut self, lines: usize) -> Self {
        self.line += lines;
        self
    }
}
