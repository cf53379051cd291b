//! A message on its way into the log.

use std::borrow::Cow;
use std::sync::Arc;

use waterline::message::{Form, Message, Raw, Role};
use waterline::tokens::Counter;

use crate::encoding::Encoding;
use crate::words::searchable;

/// A message to append.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// Who speaks.
    pub role: Role,
    /// How the bytes are to be read.
    pub encoding: Encoding,
    /// The bytes as they came.
    pub bytes: Vec<u8>,
    /// Its tokens.
    pub tokens: usize,
    /// By which method they were counted.
    pub counter: String,
    /// What of it can be searched.
    pub text: String,
    /// When it was said, in milliseconds since 1970, if that was not just now.
    pub time: Option<i64>,
}

impl Incoming {
    /// A message as it came: its raw bytes are kept, or its parts where it has none.
    #[must_use]
    pub fn of(message: &Message, counter: &Counter) -> Self {
        let (encoding, bytes) = form_of(message);
        Self {
            role: message.role,
            encoding,
            bytes: bytes.into_owned(),
            tokens: counter.message(message),
            counter: counter.name(),
            text: searchable(message),
            time: None,
        }
    }

    /// Bytes that could not be read as a message. They are kept, and counted as text.
    #[must_use]
    pub fn unread(role: Role, bytes: Vec<u8>, counter: &Counter) -> Self {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (tokens, counter) = (counter.text(&text), counter.name());
        Self { role, encoding: Encoding::Bytes, bytes, tokens, counter, text, time: None }
    }

    /// The same, said at some time: milliseconds since 1970.
    #[must_use]
    pub const fn at(mut self, time: Option<i64>) -> Self {
        self.time = time;
        self
    }
}

/// The bytes under which a message is stored, and how they are read.
pub(crate) fn form_of(message: &Message) -> (Encoding, Cow<'_, [u8]>) {
    match &message.raw {
        Some(raw) if !raw.as_str().is_empty() => (Encoding::Wire(raw.wire()), raw.as_str().as_bytes().into()),
        raw => (Encoding::Neutral, neutral(message, raw.as_ref()).into()),
    }
}

/// The engine's own JSON, with the name of the wire it came from.
fn neutral(message: &Message, raw: Option<&Raw>) -> Vec<u8> {
    let raw = raw.and_then(|raw| Raw::new(raw.wire(), Arc::default(), 0..0));
    let plain = Message { raw, form: Form::Changed, ..message.clone() };
    serde_json::to_vec(&plain).unwrap_or_default()
}
