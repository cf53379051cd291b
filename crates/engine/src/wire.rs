//! Names of wire formats. Only the provider crate knows what one looks like.
//!
//! The set is open: a format defines its name where its code is, and this file lists only the ones
//! that the log numbers.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{PoisonError, RwLock};

use serde::{Deserialize, Serialize};

/// The most names that are remembered beside the built-in ones: names in stored data are not
/// trusted to be few.
const MOST: usize = 64;

/// The longest name.
const LONGEST: usize = 40;

/// Names that were registered or read, beside the built-in ones.
static OTHERS: RwLock<Vec<Wire>> = RwLock::new(Vec::new());

/// A wire format, by its name.
#[derive(Clone, Copy)]
pub struct Wire(&'static Dialect);

/// What the engine must know of a wire format.
#[derive(Debug)]
pub struct Dialect {
    name: &'static str,
    pairs_by_order: bool,
    binds_items: bool,
}

impl Dialect {
    /// A wire format with call ids, whose messages stand for themselves.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, pairs_by_order: false, binds_items: false }
    }

    /// It pairs calls and results by order and name, so that a call without an id is usual.
    #[must_use]
    pub const fn pairing_by_order(mut self) -> Self {
        self.pairs_by_order = true;
        self
    }

    /// Its items may refer by id to the reasoning before them.
    #[must_use]
    pub const fn binding_items(mut self) -> Self {
        self.binds_items = true;
        self
    }
}

impl Wire {
    /// OpenAI Chat Completions, and everything that imitates it.
    pub const OPENAI_CHAT: Self = Self(&Dialect::new("openai-chat"));
    /// OpenAI Responses.
    pub const OPENAI_RESPONSES: Self = Self(&Dialect::new("openai-responses").binding_items());
    /// Anthropic Messages.
    pub const ANTHROPIC: Self = Self(&Dialect::new("anthropic"));
    /// Gemini `generateContent`.
    pub const GEMINI: Self = Self(&Dialect::new("gemini").pairing_by_order());

    const BUILT_IN: [Self; 4] =
        [Self::OPENAI_CHAT, Self::OPENAI_RESPONSES, Self::ANTHROPIC, Self::GEMINI];

    /// The wire of a dialect.
    #[must_use]
    pub const fn new(dialect: &'static Dialect) -> Self {
        Self(dialect)
    }

    /// The name used on the command line and in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Whether calls and results are paired by order and name.
    #[must_use]
    pub const fn pairs_by_order(self) -> bool {
        self.0.pairs_by_order
    }

    /// Whether items may refer by id to the reasoning before them.
    #[must_use]
    pub const fn binds_items(self) -> bool {
        self.0.binds_items
    }

    /// Remembers the wire, so that stored messages find it by its name. Returns whether the name
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

    /// The wire of a name in stored data, whether or not this program can read its messages. None
    /// for a name that is too long, is not made of lower-case letters, digits and hyphens, or is
    /// one too many.
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
        if !is_plain || name.is_empty() || name.len() > LONGEST || others.len() >= MOST {
            return None;
        }
        drop(others);
        // Names live as long as the program: there are few, and a wire stays one word that is
        // copied.
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
        Self::named(&name).ok_or_else(|| {
            serde::de::Error::custom(format!("{name:?} is not the name of a wire format"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_name_is_found_again_and_one_that_cannot_be_a_name_is_refused() {
        let read: Wire = serde_json::from_str("\"some-other-wire\"").unwrap();
        assert_eq!((read.name(), Wire::named("some-other-wire")), ("some-other-wire", Some(read)));
        assert_eq!(serde_json::to_string(&Wire::GEMINI).unwrap(), "\"gemini\"");
        assert!(Wire::named("gemini").unwrap().pairs_by_order());
        for name in ["", "Gemini", "a b", &"a".repeat(41)] {
            assert_eq!(Wire::named(name), None, "{name:?}");
        }
    }

    #[test]
    fn names_in_stored_data_do_not_fill_the_memory() {
        let taken = (0..1_000).filter(|n| Wire::named(&format!("wire-{n}")).is_some()).count();
        assert!(taken <= MOST, "{taken}");
    }
}
