//! A context rendered for one wire.

use std::sync::Arc;

use serde::ser::{Error, Serialize, SerializeStruct, Serializer};
use serde_json::value::RawValue;
use waterline::json::one_line;
use waterline::message::Raw;

/// A piece of JSON: the original bytes of a message, or new ones.
#[derive(Clone, Debug)]
pub enum Json {
    /// A message as it arrived, byte for byte.
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

/// On one line. Otherwise the bytes are unchanged.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = one_line(self.as_str());
        let raw: &RawValue = serde_json::from_str(&text).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// A context rendered for one wire.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// The system prompt, on wires that keep it outside the messages.
    pub system: Option<Json>,
    /// The list that the request body contains, without the system prompt if the wire keeps it
    /// apart.
    pub messages: Vec<Json>,
}

impl Rendered {
    /// Returns the messages as JSON texts.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        self.messages.iter().map(Json::as_str).collect()
    }
}

/// As `system`, if there is one, and `messages`, like the body of a request.
impl Serialize for Rendered {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Rendered", 2)?;
        match &self.system {
            Some(system) => fields.serialize_field("system", system)?,
            None => fields.skip_field("system")?,
        }
        fields.serialize_field("messages", &self.messages)?;
        fields.end()
    }
}
