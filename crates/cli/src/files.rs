//! Files that a command writes: complete or not at all, and never over what it reads.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;

/// A file in the making.
pub struct Output {
    path: PathBuf,
    writer: Writer,
}

enum Writer {
    /// Beside its place, under another name until it is complete.
    Beside(BufWriter<NamedTempFile>),
    /// A device or a pipe is written as it is.
    Straight(BufWriter<File>),
}

impl Output {
    /// Begins a file; refused when it is one of those that are read.
    pub fn create(path: &Path, inputs: &[PathBuf]) -> Result<Self> {
        Self::with_mode(path, inputs, 0o666)
    }

    /// Begins a file that only its owner can read.
    pub fn private(path: &Path) -> Result<Self> {
        Self::with_mode(path, &[], 0o600)
    }

    fn with_mode(path: &Path, inputs: &[PathBuf], mode: u32) -> Result<Self> {
        let same =
            |input: &PathBuf| std::fs::canonicalize(input).ok() == std::fs::canonicalize(path).ok();
        if path.exists() && inputs.iter().any(same) {
            bail!("{} is read; it cannot be written too", path.display());
        }
        let cannot = || format!("cannot write {}", path.display());
        let is_special = std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        let writer = if is_special {
            Writer::Straight(BufWriter::new(
                File::options().write(true).open(path).with_context(cannot)?,
            ))
        } else {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            let mut builder = tempfile::Builder::new();
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
            Writer::Beside(BufWriter::new(
                builder.tempfile_in(folder).map_err(unnamed).with_context(cannot)?,
            ))
        };
        Ok(Self { path: path.to_owned(), writer })
    }

    /// Puts the complete file into its place.
    pub fn finish(self) -> Result<()> {
        let cannot = || format!("cannot write {}", self.path.display());
        match self.writer {
            Writer::Beside(writer) => {
                let file = writer
                    .into_inner()
                    .map_err(std::io::IntoInnerError::into_error)
                    .with_context(cannot)?;
                file.persist(&self.path)
                    .map_err(|error| unnamed(error.error))
                    .with_context(cannot)?;
            }
            Writer::Straight(mut writer) => writer.flush().with_context(cannot)?,
        }
        Ok(())
    }
}

/// An error without the name that the file has until it is complete: nobody knows it.
fn unnamed(error: std::io::Error) -> std::io::Error {
    if error.raw_os_error().is_some() { error } else { error.kind().into() }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.writer {
            Writer::Beside(writer) => writer.write(bytes),
            Writer::Straight(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.writer {
            Writer::Beside(writer) => writer.flush(),
            Writer::Straight(writer) => writer.flush(),
        }
    }
}
