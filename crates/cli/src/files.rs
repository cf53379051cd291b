//! Files that a command writes: complete or not at all, and never over one of its inputs.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;

use crate::text;

/// A file that is being written.
pub struct Output {
    path: PathBuf,
    writer: Writer,
}

enum Writer {
    /// Written in the same directory under a temporary name, and renamed when complete.
    Temporary(BufWriter<NamedTempFile>),
    /// A device or a pipe is written directly.
    Direct(BufWriter<File>),
}

impl Output {
    /// Creates a file; refused if it is one of the inputs.
    pub fn create(path: &Path, inputs: &[PathBuf]) -> Result<Self> {
        Self::with_mode(path, inputs, 0o666)
    }

    /// Creates a file that only its owner can read.
    pub fn private(path: &Path) -> Result<Self> {
        Self::with_mode(path, &[], 0o600)
    }

    fn with_mode(path: &Path, inputs: &[PathBuf], mode: u32) -> Result<Self> {
        let same =
            |input: &PathBuf| std::fs::canonicalize(input).ok() == std::fs::canonicalize(path).ok();
        if path.exists() && inputs.iter().any(same) {
            bail!(text!("file-is-input", path = path.display().to_string()));
        }
        let is_special = std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        let writer = if is_special {
            Writer::Direct(BufWriter::new(
                File::options().write(true).open(path).with_context(|| cannot_write(path))?,
            ))
        } else {
            let directory = path
                .parent()
                .filter(|directory| !directory.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            let mut builder = tempfile::Builder::new();
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
            let file = builder.tempfile_in(directory).map_err(without_name);
            Writer::Temporary(BufWriter::new(file.with_context(|| cannot_write(path))?))
        };
        Ok(Self { path: path.to_owned(), writer })
    }

    /// Moves the complete file to its path.
    pub fn finish(self) -> Result<()> {
        let written = match self.writer {
            Writer::Temporary(writer) => {
                let file = writer.into_inner().map_err(std::io::IntoInnerError::into_error);
                file.and_then(|file| {
                    file.persist(&self.path).map_err(|error| without_name(error.error))
                })
                .map(drop)
            }
            Writer::Direct(mut writer) => writer.flush(),
        };
        written.with_context(|| cannot_write(&self.path))
    }
}

fn cannot_write(path: &Path) -> String {
    text!("cannot-write", path = path.display().to_string())
}

/// Removes the temporary name from an error: the user does not know it.
fn without_name(error: std::io::Error) -> std::io::Error {
    match (error.raw_os_error(), error.kind()) {
        (Some(_), _) => error,
        // The standard library calls a missing directory a missing entity.
        (None, kind @ std::io::ErrorKind::NotFound) => {
            std::io::Error::new(kind, text!("directory-missing"))
        }
        (None, kind) => kind.into(),
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.writer {
            Writer::Temporary(writer) => writer.write(bytes),
            Writer::Direct(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.writer {
            Writer::Temporary(writer) => writer.flush(),
            Writer::Direct(writer) => writer.flush(),
        }
    }
}
