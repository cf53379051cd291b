//! A context as one wire writes it.

use std::sync::Arc;

use waterline::message::Raw;

/// A piece of JSON: the bytes a message came in, or new ones.
#[derive(Clone, Debug)]
pub enum Json {
    /// The bytes it came in.
    Raw(Raw),
    /// Written here. Shared, because each call sends again what the calls before it sent.
    Made(Arc<str>),
}

impl Json {
    /// New JSON text.
    #[must_use]
    pub fn made(text: String) -> Self {
        Self::Made(text.into())
    }

    /// The JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Raw(raw) => raw.as_str(),
            Self::Made(text) => text,
        }
    }
}

/// A context as one wire writes it.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// The system prompt, on wires where it stands beside the messages.
    pub system: Option<Json>,
    /// The messages.
    pub messages: Vec<Json>,
}

impl Rendered {
    /// The messages as JSON texts.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        self.messages.iter().map(Json::as_str).collect()
    }
}
