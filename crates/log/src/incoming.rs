//! Messages to append.

use std::borrow::Cow;

use waterline::message::{Form, Message, Role};
use waterline::tokens::Counter;

use crate::encoding::Encoding;
use crate::search_terms::searchable;

/// A message to append.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Incoming {
    /// Who wrote it.
    pub role: Role,
    /// The encoding of the bytes.
    pub encoding: Encoding,
    /// The bytes as received.
    pub bytes: Vec<u8>,
    /// The number of tokens.
    pub tokens: usize,
    /// The name of the counter that counted them.
    pub counter: String,
    /// The text to index for search.
    pub text: String,
    /// The time of the message, in milliseconds since 1970. If it is `None`, the log sets the
    /// current time.
    pub time: Option<i64>,
}

impl Incoming {
    /// Prepares a message for appending: its raw bytes, or its parts if it has none.
    #[must_use]
    pub fn of(message: &Message, counter: &Counter) -> Self {
        Self::counted(message, counter.message(message), counter)
    }

    /// Prepares a message whose tokens were already counted by `counter`.
    #[must_use]
    pub fn counted(message: &Message, tokens: usize, counter: &Counter) -> Self {
        let (encoding, bytes) = stored_form(message);
        Self {
            role: message.role,
            encoding,
            bytes: bytes.into_owned(),
            tokens,
            counter: counter.name(),
            text: searchable(message),
            time: None,
        }
    }

    /// Prepares bytes that cannot be parsed. They are stored and counted as text.
    #[must_use]
    pub fn unread(role: Role, bytes: Vec<u8>, counter: &Counter) -> Self {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Self {
            role,
            encoding: Encoding::Bytes,
            bytes,
            tokens: counter.text(&text),
            counter: counter.name(),
            text,
            time: None,
        }
    }

    /// Sets [`time`](Self::time).
    #[must_use]
    pub const fn at(mut self, time: Option<i64>) -> Self {
        self.time = time;
        self
    }
}

/// Returns the bytes that are stored for a message, and their encoding.
pub(crate) fn stored_form(message: &Message) -> (Encoding, Cow<'_, [u8]>) {
    let raw = message.raw.as_ref().filter(|raw| !raw.as_str().is_empty());
    match raw.and_then(|raw| Some((Encoding::of(raw.wire())?, raw))) {
        Some((encoding, raw)) => (encoding, raw.as_str().as_bytes().into()),
        None => (Encoding::Neutral, neutral(message).into()),
    }
}

/// Returns the engine's JSON of a message, which includes its raw bytes if it has any.
fn neutral(message: &Message) -> Vec<u8> {
    if message.raw.as_ref().is_some_and(|raw| !raw.as_str().is_empty()) {
        return serde_json::to_vec(message).unwrap_or_default();
    }
    let plain = Message { form: Form::Changed, ..message.clone() };
    serde_json::to_vec(&plain).unwrap_or_default()
}
