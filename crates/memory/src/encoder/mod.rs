//! Encoders whose model files the user has. `open` finds and reads the files of a directory.

mod merges;
mod open;
#[cfg(feature = "onnx")]
mod sentence_vectors;
mod word_vectors;
#[cfg(feature = "onnx")]
mod wordpiece;

pub use open::{OpenError, open};
#[cfg(feature = "onnx")]
pub use sentence_vectors::SentenceVectors;
pub use word_vectors::WordVectors;

/// A model file with the wrong format.
#[derive(Debug, thiserror::Error)]
#[error("this is not {expected}: {cause}")]
pub struct ModelError {
    /// What the file should be.
    pub expected: &'static str,
    /// Why it is not.
    pub cause: String,
}

impl ModelError {
    pub(crate) fn new(expected: &'static str, cause: impl ToString) -> Self {
        Self { expected, cause: cause.to_string() }
    }
}

/// Scales a vector to length 1. A vector of zeros stays as it is.
fn to_unit(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}
