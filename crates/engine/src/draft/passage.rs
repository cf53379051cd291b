//! A passage of an earlier message, found by a caller's search.

use crate::ledger::text_of;
use crate::message::{Message, Role};

/// A passage of an earlier message that fits the newest user message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Passage {
    /// The index of the message.
    pub message: usize,
    /// The author of the message.
    pub role: Role,
    /// The text. An ellipsis marks an end where the message continues.
    pub text: String,
}

impl Passage {
    /// Creates a passage of the message at this index.
    #[must_use]
    pub fn new(message: usize, role: Role, text: impl Into<String>) -> Self {
        Self { message, role, text: text.into() }
    }

    /// Returns whether one of these messages has the text.
    pub(crate) fn is_in<'a>(&self, mut messages: impl Iterator<Item = &'a Message>) -> bool {
        let text = self.text.trim_matches('…').trim();
        messages.any(|message| text_of(message).contains(text))
    }
}
