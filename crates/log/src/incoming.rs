//! A message on its way into the log.

use std::borrow::Cow;

use waterline::message::{Form, Message, Role};
use waterline::tokens::Counter;

use crate::encoding::Encoding;
use crate::search_terms::searchable;

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
    let raw = message.raw.as_ref().filter(|raw| !raw.as_str().is_empty());
    match raw.and_then(|raw| Some((Encoding::of(raw.wire())?, raw))) {
        Some((encoding, raw)) => (encoding, raw.as_str().as_bytes().into()),
        None => (Encoding::Neutral, neutral(message).into()),
    }
}

/// The engine's own JSON. The bytes that a message came in are part of it, where there are any.
fn neutral(message: &Message) -> Vec<u8> {
    if message.raw.as_ref().is_some_and(|raw| !raw.as_str().is_empty()) {
        return serde_json::to_vec(message).unwrap_or_default();
    }
    let plain = Message { form: Form::Changed, ..message.clone() };
    serde_json::to_vec(&plain).unwrap_or_default()
}
