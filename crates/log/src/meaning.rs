//! What a message says, as a hash: the same whether it came from a provider or back from a client
//! that wrote it anew.

use waterline::message::{Body, Image, Message, Part};

use crate::canonical::canonical;
use crate::encoding::role_code;

/// The hash of a conversation up to a message, by what was said in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Meaning([u8; 32]);

impl Meaning {
    /// Before the first message.
    pub(crate) const NOTHING: Self = Self([0; 32]);

    /// What was said up to here and in one more message. Thinking, and what only one wire has words
    /// for, does not count: clients leave it out.
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

/// Whether two messages say the same.
pub(crate) fn is_same(left: &Message, right: &Message) -> bool {
    Meaning::NOTHING.then(left) == Meaning::NOTHING.then(right)
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

/// Lengths go before the words, so that no two lists of fields read the same.
fn field(hasher: &mut blake3::Hasher, kind: u8, words: &[&[u8]]) {
    hasher.update(&[kind]);
    for word in words {
        hasher.update(&(word.len() as u64).to_le_bytes());
        hasher.update(word);
    }
}
