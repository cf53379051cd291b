//! An API key that is never shown or stored.

use std::fmt;

/// An API key for a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Creates a key. Surrounding white space, such as a file's final line break, is removed.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// Whether the key can be sent in a header: not empty, and visible ASCII only.
    pub(super) fn is_sendable(&self) -> bool {
        !self.0.is_empty() && self.0.bytes().all(|byte| byte.is_ascii_graphic())
    }

    pub(super) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}
