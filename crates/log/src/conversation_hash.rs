//! A hash of a conversation that is independent of its wire format: it is the same for a provider's
//! message and for the copy that a client sends back.

use waterline::message::{Body, Image, Message, Part};

use crate::canonical::canonical;
use crate::encoding::role_code;

/// The hash of a conversation up to some message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConversationHash([u8; 32]);

impl ConversationHash {
    /// The hash before the first message.
    pub(crate) const EMPTY: Self = Self([0; 32]);

    /// Returns the hash with one more message. Thinking and opaque parts are not hashed, because
    /// clients leave them out.
    pub(crate) fn then(self, message: &Message) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("waterline conversation 1");
        hasher.update(&self.0);
        hasher.update(&[role_code(message.role)]);
        add(&mut hasher, &message.parts);
        Self(*hasher.finalize().as_bytes())
    }

    pub(crate) const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Returns whether two messages have the same content.
pub(crate) fn is_same(left: &Message, right: &Message) -> bool {
    ConversationHash::EMPTY.then(left) == ConversationHash::EMPTY.then(right)
}

fn add(hasher: &mut blake3::Hasher, parts: &[Part]) {
    for part in parts {
        match &part.body {
            Body::Text(text) if text.is_empty() => {}
            Body::Text(text) => field(hasher, b't', &[text.as_bytes()]),
            Body::Image(Image::Inline { data, .. }) => field(hasher, b'i', &[data.as_bytes()]),
            Body::Image(Image::Url(url)) => field(hasher, b'u', &[url.as_bytes()]),
            Body::Call(call) => {
                let arguments = canonical(call.arguments.as_bytes());
                field(hasher, b'c', &[call.id.as_bytes(), call.name.as_bytes(), &arguments]);
            }
            Body::Result(result) => {
                field(hasher, b'r', &[result.call_id.as_bytes()]);
                add(hasher, &result.parts);
            }
            Body::Thinking(_) | Body::Opaque(_) => {}
        }
    }
}

/// Each value is prefixed with its length, so that different fields never hash the same bytes.
fn field(hasher: &mut blake3::Hasher, kind: u8, values: &[&[u8]]) {
    hasher.update(&[kind]);
    for value in values {
        hasher.update(&(value.len() as u64).to_le_bytes());
        hasher.update(value);
    }
}
