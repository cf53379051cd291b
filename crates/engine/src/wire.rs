//! Names of wire formats. Only the provider crate knows the formats themselves.
//!
//! The set is open: a format defines its name next to its code, and this file lists only those that
//! have a number in the log.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{PoisonError, RwLock};

use serde::{Deserialize, Serialize};

/// Maximum number of names that are remembered in addition to the built-in ones. Stored data could
/// contain any number of names.
const MAX_NAMES: usize = 64;

/// Maximum number of bytes of a name.
const MAX_NAME_LENGTH: usize = 40;

/// Names that were registered or found in stored data, without the built-in ones.
static OTHERS: RwLock<Vec<Wire>> = RwLock::new(Vec::new());

/// A wire format, by its name.
#[derive(Clone, Copy)]
pub struct Wire(&'static Dialect);

/// What the engine needs to know about a wire format.
#[derive(Debug)]
pub struct Dialect {
    name: &'static str,
    pairs_by_order: bool,
    binds_items: bool,
}

impl Dialect {
    /// Creates a wire format with call ids, in which items do not refer to each other.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, pairs_by_order: false, binds_items: false }
    }

    /// Says that calls and results are paired by order and name, so that calls usually have no id.
    #[must_use]
    pub const fn pairing_by_order(mut self) -> Self {
        self.pairs_by_order = true;
        self
    }

    /// Says that items may refer by id to the reasoning before them.
    #[must_use]
    pub const fn binding_items(mut self) -> Self {
        self.binds_items = true;
        self
    }
}

impl Wire {
    /// OpenAI Chat Completions and compatible servers.
    pub const OPENAI_CHAT: Self = Self(&Dialect::new("openai-chat"));
    /// The Responses API of OpenAI: `openai-responses`.
    pub const OPENAI_RESPONSES: Self = Self(&Dialect::new("openai-responses").binding_items());
    /// Anthropic Messages.
    pub const ANTHROPIC: Self = Self(&Dialect::new("anthropic"));
    /// Gemini `generateContent`.
    pub const GEMINI: Self = Self(&Dialect::new("gemini").pairing_by_order());

    const BUILT_IN: [Self; 4] =
        [Self::OPENAI_CHAT, Self::OPENAI_RESPONSES, Self::ANTHROPIC, Self::GEMINI];

    /// Creates the wire of a dialect.
    #[must_use]
    pub const fn new(dialect: &'static Dialect) -> Self {
        Self(dialect)
    }

    /// Returns the name used on the command line and in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns whether calls and results are paired by order and name.
    #[must_use]
    pub const fn pairs_by_order(self) -> bool {
        self.0.pairs_by_order
    }

    /// Returns whether items may refer by id to the reasoning before them.
    #[must_use]
    pub const fn binds_items(self) -> bool {
        self.0.binds_items
    }

    /// Registers the wire, so that stored messages find it by its name. Returns whether the name
    /// was free.
    #[must_use]
    pub fn remember(self) -> bool {
        let mut others = OTHERS.write().unwrap_or_else(PoisonError::into_inner);
        let is_free = Self::BUILT_IN.iter().chain(others.iter()).all(|known| *known != self);
        if is_free {
            others.push(self);
        }
        is_free
    }

    /// Returns the wire with this name, whether or not this program can parse its messages. Returns
    /// `None` for a name that is too long or has characters other than lower-case letters, digits
    /// and hyphens, and for any new name once too many are registered.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let others = OTHERS.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) =
            Self::BUILT_IN.iter().chain(others.iter()).find(|wire| wire.name() == name)
        {
            return Some(*known);
        }
        let is_plain = name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if !is_plain || name.is_empty() || name.len() > MAX_NAME_LENGTH || others.len() >= MAX_NAMES
        {
            return None;
        }
        drop(others);
        // The name is leaked, so that a wire stays a copyable reference. There are few names.
        let wire = Self(Box::leak(Box::new(Dialect::new(name.to_owned().leak()))));
        if wire.remember() { Some(wire) } else { Self::named(name) }
    }
}

impl PartialEq for Wire {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0) || self.0.name == other.0.name
    }
}

impl Eq for Wire {}

impl Hash for Wire {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl Serialize for Wire {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name)
    }
}

impl<'de> Deserialize<'de> for Wire {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name)
            .ok_or_else(|| serde::de::Error::custom(format!("invalid wire format name {name:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_name_is_found_again_and_an_invalid_one_is_rejected() {
        let read: Wire = serde_json::from_str("\"some-other-wire\"").unwrap();
        assert_eq!((read.name(), Wire::named("some-other-wire")), ("some-other-wire", Some(read)));
        assert_eq!(serde_json::to_string(&Wire::GEMINI).unwrap(), "\"gemini\"");
        assert!(Wire::named("gemini").unwrap().pairs_by_order());
        for name in ["", "Gemini", "a b", &"a".repeat(41)] {
            assert_eq!(Wire::named(name), None, "{name:?}");
        }
    }

    #[test]
    fn the_number_of_remembered_names_is_limited() {
        let taken = (0..1_000).filter(|n| Wire::named(&format!("wire-{n}")).is_some()).count();
        assert!(taken <= MAX_NAMES, "{taken}");
    }
}
