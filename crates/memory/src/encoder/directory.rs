//! The directory of the encoders that the user added: one subdirectory for each, with its files.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::known::known;
use super::open::{ModelKind, OpenError, kind};

/// The extensions of model files, apart from tokenizers in JSON.
const ENDINGS: [&str; 4] = ["onnx", "npz", "safetensors", "model"];

/// The directory of the encoders that the user added.
#[derive(Clone, Debug)]
pub struct ModelDirectory {
    path: PathBuf,
}

/// An encoder that the user added.
#[derive(Debug)]
#[non_exhaustive]
pub struct AddedModel {
    /// The name of the directory, by which the config selects the encoder.
    pub name: String,
    /// The directory of its files.
    pub path: PathBuf,
    /// Its kind, or what is missing.
    pub kind: Result<ModelKind, OpenError>,
    /// The size of its files.
    pub bytes: u64,
}

/// Why files were not added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file or directory that failed.
        path: PathBuf,
        /// What the operating system reports.
        source: std::io::Error,
    },
    /// The hash of a file is unknown, and the user did not confirm it.
    #[error("{path} is not a known model file: its SHA-256 is {sha256}")]
    Unknown {
        /// The file whose hash is unknown.
        path: PathBuf,
        /// The SHA-256 in hex, to confirm with.
        sha256: String,
    },
    /// A directory has no file that could be part of a model.
    #[error("{0} has no model file")]
    NoFiles(PathBuf),
    /// A name has characters that a directory should not have.
    #[error("{0:?} is not a name: use letters, digits, '-', '_' and '.'")]
    Name(String),
}

/// A file that is about to be added.
struct NewFile {
    encoder: String,
    file: String,
    bytes: Vec<u8>,
}

impl ModelDirectory {
    /// Uses a directory, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Copies model files from a file or a directory, and returns the names of their encoders.
    /// Known files are recognized by their SHA-256. Any other needs its hash in `confirmed`, and
    /// belongs to the encoder `name`, by default called like its directory.
    ///
    /// # Errors
    ///
    /// If a file is unknown or cannot be copied. Then no file is added.
    pub fn add(
        &self,
        source: &Path,
        confirmed: &[String],
        name: Option<&str>,
    ) -> Result<BTreeSet<String>, AddError> {
        let mut new = Vec::new();
        let mut unknown = None;
        for path in candidates(source)? {
            let bytes = std::fs::read(&path).map_err(|source| at(&path, source))?;
            let sha256: String =
                Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
            let known = known(&sha256);
            if known.is_none() && !confirmed.iter().any(|hash| hash.eq_ignore_ascii_case(&sha256)) {
                unknown.get_or_insert(AddError::Unknown { path, sha256 });
                continue;
            }
            let (encoder, file) = match known {
                Some(known) => (known.encoder.to_owned(), known.file.to_owned()),
                None => (checked(name.unwrap_or(&parent_name(&path)))?, file_name(&path)),
            };
            new.push(NewFile { encoder, file, bytes });
        }
        // A directory may have other files next to those of a model.
        match unknown {
            Some(unknown) if new.is_empty() => return Err(unknown),
            None if new.is_empty() => return Err(AddError::NoFiles(source.to_owned())),
            _ => {}
        }
        new.iter().try_for_each(|file| self.write(file))?;
        Ok(new.into_iter().map(|file| file.encoder).collect())
    }

    /// Returns the encoders, the best kind first.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read.
    pub fn list(&self) -> std::io::Result<Vec<AddedModel>> {
        let entries = match std::fs::read_dir(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut models = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                models.push(AddedModel {
                    name: file_name(&path),
                    kind: kind(&path),
                    bytes: size(&path)?,
                    path,
                });
            }
        }
        // Those that lack a file come last.
        models.sort_by_cached_key(|model| {
            let kind = model.kind.as_ref().ok().copied();
            (kind.is_none(), kind, model.name.clone())
        });
        Ok(models)
    }

    /// Deletes an encoder's files, and returns whether there were any.
    ///
    /// # Errors
    ///
    /// If they cannot be deleted, or the name is not one of an encoder.
    pub fn remove(&self, name: &str) -> Result<bool, AddError> {
        let path = self.path.join(checked(name)?);
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true).map_err(|source| at(&path, source)),
        }
    }

    /// Writes a file under another name first, so that a partial file is never used.
    fn write(&self, file: &NewFile) -> Result<(), AddError> {
        let directory = self.path.join(&file.encoder);
        let path = directory.join(&file.file);
        let draft = directory.join(format!(".{}.{}", file.file, std::process::id()));
        let write = || {
            std::fs::create_dir_all(&directory)?;
            let mut out = std::fs::File::create(&draft)?;
            out.write_all(&file.bytes)?;
            out.sync_all()?;
            std::fs::rename(&draft, &path)
        };
        write().map_err(|source| at(&path, source))
    }
}

/// Returns the file itself, or the files of a directory that may be part of a model.
fn candidates(source: &Path) -> Result<Vec<PathBuf>, AddError> {
    let failed = |error| at(source, error);
    let metadata = std::fs::metadata(source).map_err(failed)?;
    if !metadata.is_dir() {
        // A device or a pipe may never end.
        if !metadata.is_file() {
            return Err(failed(std::io::Error::other("not a file or a directory")));
        }
        return Ok(vec![source.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(source).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_tokenizer = ending == "json" && file_name(&path).contains("tokenizer");
        if path.is_file() && (ENDINGS.contains(&ending) || is_tokenizer) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn size(directory: &Path) -> std::io::Result<u64> {
    let files = std::fs::read_dir(directory)?;
    files.map(|entry| Ok(entry?.metadata()?.len())).sum()
}

fn at(path: &Path, source: std::io::Error) -> AddError {
    AddError::File { path: path.to_owned(), source }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the name of the directory that a file is in.
fn parent_name(path: &Path) -> String {
    let directory = path.parent().and_then(|parent| parent.canonicalize().ok());
    directory.as_deref().map(file_name).unwrap_or_default()
}

/// Returns the name of an encoder, which becomes a directory.
fn checked(name: &str) -> Result<String, AddError> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let is_name = !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain);
    is_name.then(|| name.to_owned()).ok_or_else(|| AddError::Name(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENIZER: &str = r#"{"model":{"vocab":{"▁a":0},"merges":["▁ a"]}}"#;

    fn hash(text: &str) -> String {
        Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn unknown_files_need_their_hash() {
        let temp = tempfile::tempdir().unwrap();
        let source = temp.path().join("mine");
        std::fs::create_dir(&source).unwrap();
        std::fs::write(source.join("table.safetensors"), "numbers").unwrap();
        std::fs::write(source.join("tokenizer.json"), TOKENIZER).unwrap();
        std::fs::write(source.join("README.md"), "about").unwrap();
        let models = ModelDirectory::new(temp.path().join("models"));
        let refused = models.add(&source, &[], None).unwrap_err();
        assert!(
            matches!(&refused, AddError::Unknown { sha256, .. } if *sha256 == hash("numbers")),
            "{refused}"
        );
        assert!(models.list().unwrap().is_empty());
        let hashes = [hash("numbers").to_uppercase(), hash(TOKENIZER)];
        let added = models.add(&source, &hashes, None).unwrap();
        assert_eq!(added, BTreeSet::from(["mine".to_owned()]));
        let listed = models.list().unwrap();
        assert_eq!((listed.len(), listed[0].name.as_str()), (1, "mine"));
        assert_eq!(*listed[0].kind.as_ref().unwrap(), ModelKind::Words);
        assert_eq!(listed[0].bytes, 7 + TOKENIZER.len() as u64);
        assert!(models.remove("mine").unwrap() && !models.remove("mine").unwrap());
        assert!(models.list().unwrap().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_not_read() {
        let models = ModelDirectory::new(tempfile::tempdir().unwrap().path().join("models"));
        let refused = models.add(std::path::Path::new("/dev/zero"), &[], None).unwrap_err();
        assert!(refused.to_string().contains("not a file or a directory"), "{refused}");
    }

    #[test]
    fn a_model_without_its_tokenizer_is_listed_last() {
        let temp = tempfile::tempdir().unwrap();
        let models = ModelDirectory::new(temp.path().join("models"));
        for (name, files) in
            [("b", &["m.onnx", "tokenizer.json"][..]), ("a", &["m.onnx"]), ("c", &[])]
        {
            let source = temp.path().join(name);
            std::fs::create_dir(&source).unwrap();
            for file in files {
                std::fs::write(source.join(file), file).unwrap();
            }
            let hashes = [hash("m.onnx"), hash("tokenizer.json")];
            assert_eq!(models.add(&source, &hashes, None).is_ok(), name != "c");
        }
        let listed = models.list().unwrap();
        let names: Vec<&str> = listed.iter().map(|model| model.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert!(matches!(listed[1].kind, Err(OpenError::NoTokenizer)));
    }

    #[test]
    fn a_name_stays_in_the_directory() {
        let temp = tempfile::tempdir().unwrap();
        let models = ModelDirectory::new(temp.path().join("models"));
        for name in ["", "..", "../other", "/etc", ".hidden", "a/b"] {
            assert!(matches!(models.remove(name), Err(AddError::Name(_))), "{name}");
        }
    }
}
