//! Encoders whose model files the user has. `open` finds and reads the files of a directory;
//! [`ModelDirectory`] is where they are kept.

mod directory;
mod known;
mod merges;
mod multilingual;
mod open;
#[cfg(feature = "onnx")]
mod sentence_vectors;
mod word_vectors;
#[cfg(feature = "onnx")]
mod wordpiece;

pub use directory::{AddError, AddedModel, ModelDirectory};
pub use multilingual::MultilingualVectors;
pub use open::{ModelKind, OpenError, kind, name, open};
#[cfg(feature = "onnx")]
pub use sentence_vectors::SentenceVectors;
pub use word_vectors::WordVectors;

/// A model file with the wrong format.
#[derive(Debug, thiserror::Error)]
#[error("this is not {expected}: {cause}")]
#[non_exhaustive]
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
