//! How the bytes of a stored message are to be read.

use waterline::message::{Role, Wire};

/// The encoding of stored bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// A message without bytes of its own: the engine's own JSON.
    Neutral,
    /// As it came on a wire that has a number.
    Wire(Wire),
    /// Bytes that nobody could read; they are kept all the same.
    Bytes,
}

/// The wires whose messages are stored as they came, by the number of each: databases and ids hold
/// these numbers. A message of any other wire is stored as the engine's own JSON, with its bytes
/// and the name of its wire in it.
const NUMBERED: [(u8, Wire); 4] =
    [(1, Wire::OPENAI_CHAT), (2, Wire::OPENAI_RESPONSES), (3, Wire::ANTHROPIC), (4, Wire::GEMINI)];

const NEUTRAL: u8 = 0;
const BYTES: u8 = 5;

impl Encoding {
    /// The encoding of messages as a wire has them, if it has a number.
    pub(crate) fn of(wire: Wire) -> Option<Self> {
        NUMBERED.iter().any(|(_, known)| *known == wire).then_some(Self::Wire(wire))
    }

    /// The number that databases and ids know it by; never given to another encoding.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Neutral => NEUTRAL,
            // Without a number the bytes are kept, and read as text.
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

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Neutral => "neutral",
            Self::Wire(wire) => wire.name(),
            Self::Bytes => "bytes",
        }
    }

    /// The encoding of a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        (0..=5).map(Self::of_code).find(|encoding| encoding.name() == name)
    }
}

/// The number that databases know a role by.
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
