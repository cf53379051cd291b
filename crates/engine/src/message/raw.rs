//! The bytes that a message was received in.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::wire::Wire;

/// The bytes that a message was received in: a range of a shared text, so that nothing is copied.
/// The text is an `Arc<String>`, because creating an `Arc<str>` would copy it.
#[derive(Clone)]
pub struct Raw {
    wire: Wire,
    source: Arc<String>,
    range: Range<usize>,
}

impl Raw {
    /// Creates a range of `source`, or `None` if the range is invalid.
    #[must_use]
    pub fn new(wire: Wire, source: Arc<String>, range: Range<usize>) -> Option<Self> {
        source.get(range.clone())?;
        Some(Self { wire, source, range })
    }

    /// Returns the wire format of the bytes.
    #[must_use]
    pub const fn wire(&self) -> Wire {
        self.wire
    }

    /// Returns the bytes as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.source.get(self.range.clone()).unwrap_or_default()
    }
}

impl Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.wire, self.as_str()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (wire, text) = <(Wire, String)>::deserialize(deserializer)?;
        let range = 0..text.len();
        Ok(Self { wire, source: Arc::new(text), range })
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.wire, self.as_str())
    }
}
