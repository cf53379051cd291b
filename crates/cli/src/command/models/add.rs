//! `waterline models add`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use waterline_memory::encoder::{self, AddError, ModelDirectory, OpenError};

use super::{directory, kind};
use crate::error::{describe_add, describe_open};
use crate::number::bytes;
use crate::text;

/// Copy an encoder's files into the data directory
///
/// Files that were tested are recognized by their SHA-256: all-MiniLM-L6-v2, the multilingual
/// Universal Sentence Encoder and WordLlama (docs/recall.md says where they are). Any other file
/// needs --sha256 with its hash.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Model files or directories with them: a sentence encoder (*.onnx, *.npz) or a table of word
    /// vectors (*.safetensors), and its tokenizer
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Also accept a file with this SHA-256 (can be repeated)
    #[arg(long, value_name = "HASH")]
    sha256: Vec<String>,
    /// Name of the encoder that such files belong to (default: the name of their directory)
    #[arg(long)]
    name: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let models = directory()?;
    let mut names = std::collections::BTreeSet::new();
    for path in &arguments.paths {
        let added = models.add(path, &arguments.sha256, arguments.name.as_deref());
        names.extend(added.map_err(|error| anyhow!(describe_add(&error)))?);
    }
    names.iter().try_for_each(|name| report(&models, name))?;
    Ok(ExitCode::SUCCESS)
}

/// Checks that an encoder can be used, and says so or what is missing.
fn report(models: &ModelDirectory, name: &str) -> Result<()> {
    let all = models.list()?;
    let Some(model) = all.into_iter().find(|model| model.name == name) else { return Ok(()) };
    match encoder::open(&model.path) {
        Ok(_) => {
            let kind = model.kind.map(kind).unwrap_or_default();
            let size = bytes(model.bytes);
            anstream::println!("{}", text!("models-added", name = name, kind = kind, size = size));
        }
        Err(OpenError::Model(error)) => {
            models.remove(name).map_err(|error: AddError| anyhow!(describe_add(&error)))?;
            bail!(describe_open(Path::new(name), OpenError::Model(error)));
        }
        Err(error) => {
            let why = describe_open(&model.path, error);
            anstream::println!("{}", text!("models-incomplete", name = name, why = why));
        }
    }
    Ok(())
}
