//! Opening the encoder in a directory.

use std::path::{Path, PathBuf};

use super::{ModelError, WordVectors};
use crate::vector::Encoder;

/// Why the encoder of a directory cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file cannot be read.
    #[error("cannot read the model: {0}")]
    Read(#[from] std::io::Error),
    /// There is neither an ONNX model nor a table of word vectors.
    #[error("the directory has no .onnx or .safetensors file")]
    NoModel,
    /// There is no tokenizer next to the model.
    #[error("the directory has no tokenizer.json for the model")]
    NoTokenizer,
    /// This build does not have the feature `onnx`.
    #[error("this build cannot run ONNX models; use word vectors, or build with the feature onnx")]
    NotBuilt,
    /// A file does not have the format that its name promises.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Opens the encoder in a directory: a sentence encoder (`.onnx`) or else a table of word vectors
/// (`.safetensors`), with a tokenizer (`.json` with `tokenizer` in its name).
///
/// # Errors
///
/// If there is none, or it cannot be read.
pub fn open(directory: &Path) -> Result<Box<dyn Encoder>, OpenError> {
    let mut files = std::fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<PathBuf>, _>>()?;
    files.sort();
    let with_ending = |ending: &str| files.iter().find(|path| has_ending(path, ending));
    let model = with_ending("onnx").or_else(|| with_ending("safetensors"));
    let model = model.ok_or(OpenError::NoModel)?;
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Hugging Face writes a small tokenizer_config.json next to the tokenizer.
    let tokenizers = files.iter().filter(|path| has_ending(path, "json"));
    let tokenizer = tokenizers
        .filter(|path| name(path).contains("tokenizer"))
        .min_by_key(|path| name(path) != "tokenizer.json")
        .ok_or(OpenError::NoTokenizer)?;
    let bytes = std::fs::read(model)?;
    let tokenizer = std::fs::read(tokenizer)?;
    // Vectors of another model must not be compared with those of this one.
    let hash = blake3::hash(&bytes).to_hex();
    let name = format!("{}-{}", name(model), hash.get(..8).unwrap_or_default());
    if has_ending(model, "onnx") {
        sentence_vectors(&name, bytes, &tokenizer)
    } else {
        Ok(Box::new(WordVectors::load(&name, &bytes, &tokenizer)?))
    }
}

#[cfg(feature = "onnx")]
fn sentence_vectors(
    name: &str,
    model: Vec<u8>,
    tokenizer: &[u8],
) -> Result<Box<dyn Encoder>, OpenError> {
    Ok(Box::new(super::SentenceVectors::load(name, model, tokenizer)?))
}

#[cfg(not(feature = "onnx"))]
fn sentence_vectors(_: &str, _: Vec<u8>, _: &[u8]) -> Result<Box<dyn Encoder>, OpenError> {
    Err(OpenError::NotBuilt)
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|extension| extension == ending)
}
