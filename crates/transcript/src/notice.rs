//! What a reader passed over in a file, and where. How files are read is in `read` and `format`.

use std::fmt;

/// Something in a file that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is wrong with it.
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
