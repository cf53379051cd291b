//! How the bytes of a stored message are to be read.

use waterline::message::{Role, Wire};

/// The encoding of stored bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// A message without bytes of its own: the engine's own JSON.
    Neutral,
    /// As it came on a wire.
    Wire(Wire),
    /// Bytes that nobody could read; they are kept all the same.
    Bytes,
}

impl Encoding {
    /// The number that databases and ids know it by; never given to another encoding.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Neutral => 0,
            Self::Wire(Wire::OpenaiChat) => 1,
            Self::Wire(Wire::OpenaiResponses) => 2,
            Self::Wire(Wire::Anthropic) => 3,
            Self::Wire(Wire::Gemini) => 4,
            Self::Bytes => 5,
        }
    }

    pub(crate) const fn of_code(code: i64) -> Self {
        match code {
            0 => Self::Neutral,
            1 => Self::Wire(Wire::OpenaiChat),
            2 => Self::Wire(Wire::OpenaiResponses),
            3 => Self::Wire(Wire::Anthropic),
            4 => Self::Wire(Wire::Gemini),
            _ => Self::Bytes,
        }
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
