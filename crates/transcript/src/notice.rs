//! [`Notice`]: a part of a file that was skipped.

use std::fmt;

/// A part of a file that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The line number, starting at 1.
    pub line: Option<usize>,
    /// Why it was skipped.
    pub text: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}
