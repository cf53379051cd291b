//! Reads, writes and lists files of a workspace. All of these functions block.

use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, DirEntry, Metadata, Permissions};

use super::{Location, Workspace};
use crate::error::SandboxError;
use crate::open::open_in;
use crate::protected::name_of;
use crate::reason::PathReason;

/// The largest file that [`Workspace::read`] reads.
pub const FILE_BYTES: u64 = 10_000_000;

/// The number of files written so far, for unique temporary names.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// The contents of a text file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Text {
    /// The text; invalid UTF-8 is replaced with U+FFFD.
    pub text: String,
    /// Whether any bytes were replaced.
    pub lossy: bool,
}

impl Workspace {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// When the file does not exist, is not a regular file, is outside, or is too large.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, SandboxError> {
        let location = self.location(path)?;
        let file =
            open_in(location.dir, &location.path).map_err(|error| self.explain(path, error))?;
        let metadata = file.metadata().map_err(|error| self.explain(path, error))?;
        let path = || path.to_owned();
        if metadata.is_dir() {
            return Err(SandboxError::IsDirectory { path: path() });
        }
        if !metadata.is_file() {
            return Err(SandboxError::NotRegular { path: path() });
        }
        if metadata.len() > FILE_BYTES {
            return Err(SandboxError::TooLarge {
                path: path(),
                bytes: metadata.len(),
                limit: FILE_BYTES,
            });
        }
        let mut bytes = Vec::new();
        let read = file.take(FILE_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| SandboxError::Io { path: path(), error })?;
        Ok(bytes)
    }

    /// Reads a file as text.
    ///
    /// # Errors
    /// The same as [`Workspace::read`], and when the file is binary.
    pub fn read_text(&self, path: &str) -> Result<Text, SandboxError> {
        let bytes = self.read(path)?;
        if bytes.iter().take(8_000).any(|&byte| byte == 0) {
            return Err(SandboxError::NotText { path: path.to_owned(), bytes: bytes.len() });
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Text { text, lossy: false }),
            Err(error) => Ok(Text {
                text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
                lossy: true,
            }),
        }
    }

    /// Writes a file atomically and creates its parent directories. A link that stays inside is
    /// followed. Returns whether the file is new.
    ///
    /// # Errors
    /// When the path is outside or read-only, or the file cannot be written.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<bool, SandboxError> {
        let location = self.location(path)?.to_write()?;
        let explain = |error: std::io::Error| self.explain(path, error);
        let target = link_target(&location).map_err(explain)?;
        let file = target.as_deref().unwrap_or(&location.path);
        let unnamed = || SandboxError::Path { path: path.to_owned(), why: PathReason::NoFileName };
        let name = file.file_name().ok_or_else(unnamed)?;
        let parent =
            file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        check_protected(&location, path, &parent.join(name))?;
        location.dir.create_dir_all(parent).map_err(explain)?;
        let directory = location.dir.open_dir(parent).map_err(explain)?;
        let existing = directory.symlink_metadata(name).ok();
        match &existing {
            Some(existing) if existing.is_dir() => {
                return Err(SandboxError::IsDirectory { path: path.to_owned() });
            }
            // A link that was created just now is replaced, not followed.
            Some(existing) if !existing.is_file() && !existing.is_symlink() => {
                return Err(SandboxError::NotRegular { path: path.to_owned() });
            }
            None if target.is_some() => {
                return Err(SandboxError::NotFound { path: path.to_owned() });
            }
            _ => {}
        }
        let mode =
            existing.as_ref().filter(|existing| existing.is_file()).map(Metadata::permissions);
        replace(&directory, Path::new(name), bytes, mode).map_err(explain)?;
        Ok(existing.is_none())
    }

    /// Returns the entries of a directory, sorted by name.
    ///
    /// # Errors
    /// When the directory does not exist, is not a directory, or is outside.
    pub fn entries(&self, path: &str) -> Result<Vec<DirEntry>, SandboxError> {
        let location = self.location(path)?;
        let directory =
            location.dir.read_dir(&location.path).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotADirectory => {
                    SandboxError::NotDirectory { path: path.to_owned() }
                }
                _ => self.explain(path, error),
            })?;
        let mut entries: Vec<DirEntry> = directory.filter_map(Result::ok).collect();
        entries.sort_by_key(DirEntry::file_name);
        Ok(entries)
    }
}

/// Refuses a path whose links lead to a protected path that the path does not name. A call is
/// approved by the path it names.
fn check_protected(
    location: &Location<'_>,
    written: &str,
    file: &Path,
) -> Result<(), SandboxError> {
    // The part of the path that exists decides where it leads.
    let mut ancestors = file.ancestors().map(|part| match part.as_os_str().is_empty() {
        true => Path::new("."),
        false => part,
    });
    let real = ancestors.find_map(|part| {
        let rest = file.strip_prefix(part).unwrap_or(file);
        Some(location.dir.canonicalize(part).ok()?.join(rest))
    });
    let Some(real) = real else { return Ok(()) };
    let named = without_parents(&location.path);
    if location.is_guarded() && name_of(&real).is_some() && name_of(&named).is_none() {
        return Err(SandboxError::ProtectedLink { path: written.to_owned(), target: real });
    }
    Ok(())
}

/// Removes each `..` together with the directory before it, without following links.
fn without_parents(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(short.pop()),
            _ => short.push(part),
        }
    }
    short
}

/// Returns the target if the location is a link. A link that leads outside is an error.
fn link_target(location: &Location<'_>) -> std::io::Result<Option<PathBuf>> {
    let is_link =
        location.dir.symlink_metadata(&location.path).is_ok_and(|metadata| metadata.is_symlink());
    is_link.then(|| location.dir.canonicalize(&location.path)).transpose()
}

/// Writes a temporary file in the same directory and renames it when it is complete.
pub(super) fn replace(
    directory: &Dir,
    name: &Path,
    bytes: &[u8],
    mode: Option<Permissions>,
) -> std::io::Result<()> {
    // Several agents may write the same file at once.
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let temporary = format!(".waterline-{}-{number}", std::process::id());
    let written = (|| {
        let mut file = directory.create(&temporary)?;
        file.write_all(bytes)?;
        if let Some(mode) = mode {
            file.set_permissions(mode)?;
        }
        file.sync_data()?;
        directory.rename(&temporary, directory, name)
    })();
    if written.is_err() {
        drop(directory.remove_file(&temporary));
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A reader that has the old file open can read it to its end.
    #[test]
    fn write_is_atomic_also_through_a_link() {
        let temp = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(temp.path(), "s", &[]).unwrap();
        workspace.write("outputs/deep/real.txt", b"old").unwrap();
        let real = temp.path().join("outputs/deep/real.txt");
        std::fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).unwrap();
        symlink("outputs/deep", temp.path().join("directory")).unwrap();
        symlink("directory/real.txt", temp.path().join("link.txt")).unwrap();
        let mut reader = std::fs::File::open(&real).unwrap();
        assert!(!workspace.write("link.txt", b"new").unwrap(), "the file existed before");
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(
            (text.as_str(), std::fs::read_to_string(&real).unwrap().as_str()),
            ("old", "new")
        );
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(std::fs::symlink_metadata(temp.path().join("link.txt")).unwrap().is_symlink());
        assert_eq!(
            std::fs::read_dir(temp.path().join("outputs/deep")).unwrap().count(),
            1,
            "no temporary file remains"
        );
    }

    #[test]
    fn write_through_a_dangling_link_creates_no_file() {
        let temp = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(temp.path(), "s", &[]).unwrap();
        symlink("outputs/new.txt", temp.path().join("link.txt")).unwrap();
        assert!(
            workspace.write("link.txt", b"new").unwrap_err().to_string().contains("does not exist")
        );
        assert!(!temp.path().join("outputs/new.txt").exists());
    }
}
