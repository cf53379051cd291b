//! The id of a message: a hash of its parent's id and its canonical bytes. An id therefore
//! identifies a message together with all messages before it.

use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use waterline::message::Role;

use crate::canonical::canonical;
use crate::encoding::{Encoding, role_code};
use crate::error::LogError;

/// The id of a message: 32 bytes, displayed as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id([u8; 32]);

impl Id {
    /// Computes the id of a message that follows `parent` (`None` for the first message).
    #[must_use]
    pub fn of(parent: Option<Self>, role: Role, encoding: Encoding, bytes: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("waterline message 1");
        hasher.update(&parent.map_or([0; 32], |parent| parent.0));
        // The role is hashed too: a system prompt that a wire keeps outside the message list may
        // have the same bytes as a user message.
        hasher.update(&[encoding.code(), role_code(role)]);
        hasher.update(&canonical(bytes));
        Self(*hasher.finalize().as_bytes())
    }

    /// Reads an id from its stored bytes.
    pub(crate) fn stored(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the bytes of the id.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the first twelve digits, for display.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())
    }
}

impl FromStr for Id {
    type Err = LogError;

    fn from_str(text: &str) -> Result<Self, LogError> {
        let parsed = blake3::Hash::from_hex(text).map(|hash| Self(*hash.as_bytes()));
        parsed.map_err(|_| LogError::InvalidId { text: text.chars().take(80).collect() })
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl From<Id> for crate::store::Value {
    fn from(id: Id) -> Self {
        Self::Bytes(id.0.to_vec())
    }
}
