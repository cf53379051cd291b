//! Vectors of texts. They are computed by an encoder, stored by the caller, and re-rank what
//! keywords found.

use std::borrow::Cow;

use crate::speaker::Speaker;
use crate::weights::Weights;

/// Characters of a message that an encoder reads.
const READ: usize = 600;
/// Shorter messages have no vector: "ok, thanks" is similar to too much.
const SHORTEST: usize = 12;

/// A model that turns texts into vectors. Texts with a similar meaning have similar vectors.
pub trait Encoder: Send + Sync {
    /// A name that changes with the model, to be stored with its vectors.
    fn name(&self) -> &str;

    /// The weights that fit its vectors.
    fn weights(&self) -> Weights;

    /// Whether the encoder understands the language of a text.
    fn understands(&self, text: &str) -> bool;

    /// Returns one vector of length 1 for each text. A vector of zeros is similar to nothing.
    ///
    /// # Errors
    ///
    /// If the model cannot be run.
    fn encode(&self, texts: &[&str], kind: TextKind) -> Result<Vec<Vec<f32>>, EncodeError>;
}

/// What is encoded. Encoders read more of a question than of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// A message, as `text_to_encode` returns it.
    Message,
    /// A search query.
    Question,
}

/// An encoder failed.
#[derive(Debug, thiserror::Error)]
#[error("the encoder {encoder} failed: {cause}")]
#[non_exhaustive]
pub struct EncodeError {
    /// The name of the encoder.
    pub encoder: String,
    /// What went wrong.
    pub cause: String,
}

impl EncodeError {
    /// Creates the error of an encoder.
    #[must_use]
    pub fn new(encoder: impl Into<String>, cause: impl Into<String>) -> Self {
        Self { encoder: encoder.into(), cause: cause.into() }
    }
}

/// Returns the text of a message that an encoder reads, or `None` if the message gets no vector.
/// Messages that no human wrote get none: they are long, and keywords find them.
#[must_use]
pub fn text_to_encode<'a>(speaker: &str, text: &'a str) -> Option<Cow<'a, str>> {
    let kind = Speaker::named(speaker);
    if !kind.is_human() || text.chars().nth(SHORTEST - 1).is_none() {
        return None;
    }
    let first = |text: &str| text.char_indices().nth(READ).map_or(text.len(), |(end, _)| end);
    match kind {
        Speaker::Person => {
            let mut named = format!("{speaker}: {text}");
            named.truncate(first(&named));
            Some(Cow::Owned(named))
        }
        Speaker::User | Speaker::Program => text.get(..first(text)).map(Cow::Borrowed),
    }
}

/// Scales a vector to length 1. A vector of zeros stays as it is.
pub fn to_unit(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}

/// Returns how similar two vectors of length 1 are.
#[must_use]
pub fn cosine(one: &[f32], other: &[f32]) -> f64 {
    f64::from(one.iter().zip(other).map(|(one, other)| one * other).sum::<f32>())
}
