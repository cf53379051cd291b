//! Errors of the encoders' files.

use std::path::Path;

use waterline_memory::EncodeError;
use waterline_memory::encoder::{AddError, OpenError};

use super::system::io_error;
use crate::foreign::foreign;
use crate::text;

/// Describes why the encoder in a directory cannot be used.
pub fn describe_open(directory: &Path, error: OpenError) -> String {
    let path = directory.display().to_string();
    let with_cause = |cause: String| {
        let error = text!("cannot-read", path = path.as_str());
        text!("error-with-cause", error = error, cause = cause)
    };
    match error {
        OpenError::Read(error) => with_cause(io_error(&error)),
        OpenError::NoModel => text!("encoder-no-model", path = path),
        OpenError::NoTokenizer => text!("encoder-no-tokenizer", path = path),
        OpenError::NotBuilt => text!("encoder-no-onnx"),
        OpenError::Model(error) => text!("encoder-invalid", path = path, text = error.to_string()),
        other => other.to_string(),
    }
}

/// Describes why a text was not encoded.
pub fn describe_encode(error: &EncodeError) -> String {
    let cause = foreign(&error.cause);
    text!("encoder-failed", name = error.encoder.as_str(), cause = cause)
}

/// Describes why model files were not added or removed.
pub fn describe_add(error: &AddError) -> String {
    let shown = |path: &Path| path.display().to_string();
    match error {
        AddError::File { path, source } => {
            text!("error-with-cause", error = shown(path), cause = io_error(source))
        }
        AddError::Unknown { path, sha256 } => {
            text!("encoder-unknown-file", path = shown(path), hash = sha256.as_str())
        }
        AddError::NoFiles(path) => text!("encoder-no-model", path = shown(path)),
        AddError::Name(name) => text!("encoder-name", name = name.as_str()),
        other => other.to_string(),
    }
}
