//! A context rendered for one wire.

use waterline::message::Raw;

/// A piece of JSON: the original bytes of a message, or new ones.
#[derive(Clone, Debug)]
pub enum Json {
    /// The original bytes.
    Raw(Raw),
    /// Newly rendered.
    Made(String),
}

impl Json {
    /// Returns the JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Raw(raw) => raw.as_str(),
            Self::Made(text) => text,
        }
    }
}

/// A context rendered for one wire.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// The system prompt, on wires that keep it outside the messages.
    pub system: Option<Json>,
    /// The messages.
    pub messages: Vec<Json>,
}

impl Rendered {
    /// Returns the messages as JSON texts.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        self.messages.iter().map(Json::as_str).collect()
    }
}
