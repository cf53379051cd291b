//! Opening the encoder in a directory.

use std::path::{Path, PathBuf};

use super::{ModelError, MultilingualVectors, WordVectors};
use crate::vector::Encoder;

/// Why the encoder of a directory cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A file cannot be read.
    #[error("cannot read the model: {0}")]
    Read(#[from] std::io::Error),
    /// The directory has no model.
    #[error("the directory has no .onnx, .npz or .safetensors file")]
    NoModel,
    /// The model has no tokenizer next to it.
    #[error("the directory has no tokenizer.json for the model")]
    NoTokenizer,
    /// This build does not have the feature `onnx`.
    #[error("this build cannot run ONNX models; use word vectors, or build with the feature onnx")]
    NotBuilt,
    /// A file does not have the format that its name promises.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// The kinds of encoders, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelKind {
    /// A sentence encoder in ONNX format.
    Sentences,
    /// The multilingual Universal Sentence Encoder.
    Multilingual,
    /// A table of word vectors.
    Words,
}

/// The files of an encoder.
#[derive(Debug)]
struct Files {
    kind: ModelKind,
    model: PathBuf,
    tokenizer: PathBuf,
}

/// The contents of an encoder's files.
struct Contents {
    /// The name of the model's file with a hash of both files: vectors of another model must not be
    /// compared with those of this one.
    name: String,
    model: Vec<u8>,
    tokenizer: Vec<u8>,
}

/// Opens the encoder in a directory: a sentence encoder (`.onnx`), else the multilingual Universal
/// Sentence Encoder (`.npz`), else a table of word vectors (`.safetensors`). Their tokenizer is a
/// `.json` file with `tokenizer` in its name, that of the multilingual encoder a `.model` file.
///
/// # Errors
///
/// If there is none, or it cannot be read.
pub fn open(directory: &Path) -> Result<Box<dyn Encoder>, OpenError> {
    let files = Files::find(directory)?;
    if files.kind == ModelKind::Sentences && !cfg!(feature = "onnx") {
        return Err(OpenError::NotBuilt);
    }
    let Contents { name, model, tokenizer } = files.read()?;
    match files.kind {
        ModelKind::Sentences => sentence_vectors(&name, model, &tokenizer),
        ModelKind::Multilingual => {
            Ok(Box::new(MultilingualVectors::load(&name, &model, &tokenizer)?))
        }
        ModelKind::Words => Ok(Box::new(WordVectors::load(&name, &model, &tokenizer)?)),
    }
}

/// Returns the kind of the encoder in a directory.
///
/// # Errors
///
/// If there is none.
pub fn kind(directory: &Path) -> Result<ModelKind, OpenError> {
    Ok(Files::find(directory)?.kind)
}

/// Returns the name of the encoder in a directory, which is stored with its vectors, without
/// loading it.
///
/// # Errors
///
/// If there is none, or it cannot be read.
pub fn name(directory: &Path) -> Result<String, OpenError> {
    Ok(Files::find(directory)?.read()?.name)
}

impl Files {
    fn find(directory: &Path) -> Result<Self, OpenError> {
        let mut files = std::fs::read_dir(directory)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<PathBuf>, _>>()?;
        files.sort();
        let with_ending = |ending: &str| files.iter().find(|path| has_ending(path, ending));
        let sentences = with_ending("onnx").map(|path| (ModelKind::Sentences, path));
        let multilingual = || with_ending("npz").map(|path| (ModelKind::Multilingual, path));
        let words = || with_ending("safetensors").map(|path| (ModelKind::Words, path));
        let model = sentences.or_else(multilingual).or_else(words);
        let (kind, model) = model.ok_or(OpenError::NoModel)?;
        // Hugging Face writes a small tokenizer_config.json next to the tokenizer.
        let json = || {
            let files = files.iter().filter(|path| has_ending(path, "json"));
            files
                .filter(|path| file_name(path).contains("tokenizer"))
                .min_by_key(|path| file_name(path) != "tokenizer.json")
        };
        let tokenizer = match kind {
            ModelKind::Multilingual => with_ending("model"),
            ModelKind::Sentences | ModelKind::Words => json(),
        };
        let tokenizer = tokenizer.ok_or(OpenError::NoTokenizer)?;
        Ok(Self { kind, model: model.clone(), tokenizer: tokenizer.clone() })
    }

    fn read(&self) -> Result<Contents, OpenError> {
        let model = std::fs::read(&self.model)?;
        let tokenizer = std::fs::read(&self.tokenizer)?;
        let hash = blake3::Hasher::new().update(&model).update(&tokenizer).finalize().to_hex();
        let name = format!("{}-{}", file_name(&self.model), hash.get(..8).unwrap_or_default());
        Ok(Contents { name, model, tokenizer })
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

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
