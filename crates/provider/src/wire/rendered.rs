//! A context rendered for one wire.

use std::sync::Arc;

use waterline::message::Raw;

/// A piece of JSON: the original bytes of a message, or new ones.
#[derive(Clone, Debug)]
pub enum Json {
    /// The original bytes.
    Raw(Raw),
    /// Newly rendered. Shared, because each call sends what the calls before it sent.
    Made(Arc<str>),
}

impl Json {
    /// Wraps newly rendered JSON text.
    #[must_use]
    pub fn made(text: String) -> Self {
        Self::Made(text.into())
    }

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
