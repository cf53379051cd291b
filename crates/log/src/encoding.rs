//! Encodings of stored messages, roles and hashes, and the numbers that databases and ids use for
//! them.

use waterline::message::{Role, Wire};

/// The encoding of a stored message's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// The engine's own JSON, for a message that has no wire bytes.
    Neutral,
    /// The JSON of a wire, as received.
    Wire(Wire),
    /// Bytes that could not be parsed, stored unchanged.
    Bytes,
}

/// The wires whose messages are stored as received, with their numbers. Databases and ids contain
/// these numbers, so they never change. A message of any other wire is stored as the engine's own
/// JSON, which includes its bytes and the name of its wire.
const NUMBERED: [(u8, Wire); 4] =
    [(1, Wire::OPENAI_CHAT), (2, Wire::OPENAI_RESPONSES), (3, Wire::ANTHROPIC), (4, Wire::GEMINI)];

const NEUTRAL: u8 = 0;
const BYTES: u8 = 5;

impl Encoding {
    /// Returns the encoding for a wire, if the wire has a number.
    pub(crate) fn of(wire: Wire) -> Option<Self> {
        NUMBERED.iter().any(|(_, known)| *known == wire).then_some(Self::Wire(wire))
    }

    /// Returns the number that databases and ids use. A number is never reused.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Neutral => NEUTRAL,
            // A wire without a number: keep the bytes and read them as text.
            Self::Wire(wire) => NUMBERED
                .iter()
                .find(|(_, known)| *known == wire)
                .map_or(BYTES, |(number, _)| *number),
            Self::Bytes => BYTES,
        }
    }

    pub(crate) fn of_code(code: i64) -> Self {
        if code == i64::from(NEUTRAL) {
            return Self::Neutral;
        }
        let numbered = NUMBERED.iter().find(|(number, _)| i64::from(*number) == code);
        numbered.map_or(Self::Bytes, |(_, wire)| Self::Wire(*wire))
    }

    /// Returns the name of the encoding.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Neutral => "neutral",
            Self::Wire(wire) => wire.name(),
            Self::Bytes => "bytes",
        }
    }

    /// Returns the encoding with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        (0..=5).map(Self::of_code).find(|encoding| encoding.name() == name)
    }
}

/// Returns the number that databases and ids use for a role.
pub(crate) const fn role_code(role: Role) -> u8 {
    match role {
        Role::System => 0,
        Role::User => 1,
        Role::Assistant => 2,
        Role::Tool => 3,
    }
}

pub(crate) const fn role_of_code(code: i64) -> Role {
    match code {
        0 => Role::System,
        1 => Role::User,
        2 => Role::Assistant,
        _ => Role::Tool,
    }
}

/// Formats a stored hash as hexadecimal digits.
pub(crate) fn hash_name(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses hexadecimal digits into a stored hash.
pub(crate) fn parse_hash(name: &str) -> Option<Vec<u8>> {
    blake3::Hash::from_hex(name).ok().map(|hash| hash.as_bytes().to_vec())
}
