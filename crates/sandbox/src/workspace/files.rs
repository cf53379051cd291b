//! Reading, writing and listing files of a workspace. All of it blocks.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, DirEntry, Metadata, Permissions};

use super::{Location, Workspace};
use crate::error::SandboxError;
use crate::open::open_in;

/// Larger files are not read at once.
pub const FILE_BYTES: u64 = 10_000_000;

/// How many files were written, for names that nobody else has.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// A text file.
#[derive(Debug)]
pub struct Text {
    /// Its words; bytes that are no text are marked.
    pub text: String,
    /// Whether there were such bytes.
    pub lossy: bool,
}

impl Workspace {
    /// The bytes of a file.
    ///
    /// # Errors
    /// When it is not there, not a file, outside, or too large.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, SandboxError> {
        let place = self.place(path)?;
        let file = open_in(place.dir, &place.path).map_err(|error| self.explain(path, error))?;
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

    /// A file as text.
    ///
    /// # Errors
    /// As for its bytes; also when it is no text at all.
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

    /// Writes a file whole, or not at all; its folders are made. Where a link stands that leads
    /// inside, the file it leads to is written. Says whether it is new.
    ///
    /// # Errors
    /// When it is outside, may only be read, or there is no room.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<bool, SandboxError> {
        let place = self.place(path)?.to_write()?;
        let explain = |error: std::io::Error| self.explain(path, error);
        let linked = linked(&place).map_err(explain)?;
        let file = linked.as_deref().unwrap_or(&place.path);
        let unnamed = || SandboxError::Path { path: path.to_owned(), why: "it names no file" };
        let name = file.file_name().ok_or_else(unnamed)?;
        let parent =
            file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        place.dir.create_dir_all(parent).map_err(explain)?;
        let folder = place.dir.open_dir(parent).map_err(explain)?;
        let known = folder.symlink_metadata(name).ok();
        match &known {
            Some(known) if known.is_dir() => {
                return Err(SandboxError::IsDirectory { path: path.to_owned() });
            }
            // A link that is put there just now is replaced, not followed.
            Some(known) if !known.is_file() && !known.is_symlink() => {
                return Err(SandboxError::NotRegular { path: path.to_owned() });
            }
            None if linked.is_some() => {
                return Err(SandboxError::NotFound { path: path.to_owned() });
            }
            _ => {}
        }
        let mode = known.as_ref().filter(|known| known.is_file()).map(Metadata::permissions);
        replace(&folder, Path::new(name), bytes, mode).map_err(explain)?;
        Ok(known.is_none())
    }

    /// The entries of a folder, by name.
    ///
    /// # Errors
    /// When it is not there, no folder, or outside.
    pub fn entries(&self, path: &str) -> Result<Vec<DirEntry>, SandboxError> {
        let place = self.place(path)?;
        let folder = place.dir.read_dir(&place.path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotADirectory => {
                SandboxError::NotDirectory { path: path.to_owned() }
            }
            _ => self.explain(path, error),
        })?;
        let mut entries: Vec<DirEntry> = folder.filter_map(Result::ok).collect();
        entries.sort_by_key(DirEntry::file_name);
        Ok(entries)
    }
}

/// The file that a link leads to, where a link stands. One that leads outside is refused.
fn linked(place: &Location<'_>) -> std::io::Result<Option<PathBuf>> {
    let is_link =
        place.dir.symlink_metadata(&place.path).is_ok_and(|metadata| metadata.is_symlink());
    is_link.then(|| place.dir.canonicalize(&place.path)).transpose()
}

/// Writes a file beside the one it is to replace, and puts it in its place when it is whole.
fn replace(
    folder: &Dir,
    name: &Path,
    bytes: &[u8],
    mode: Option<Permissions>,
) -> std::io::Result<()> {
    // Several agents may write the same file at once.
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let temporary = format!(".waterline-{}-{number}", std::process::id());
    let written = (|| {
        let mut file = folder.create(&temporary)?;
        file.write_all(bytes)?;
        if let Some(mode) = mode {
            file.set_permissions(mode)?;
        }
        file.sync_data()?;
        folder.rename(&temporary, folder, name)
    })();
    if written.is_err() {
        drop(folder.remove_file(&temporary));
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Whoever has the file open reads the old one to its end.
    #[test]
    fn a_file_is_written_whole_or_not_at_all_also_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        workspace.write("outputs/deep/real.txt", b"old").unwrap();
        let real = folder.path().join("outputs/deep/real.txt");
        std::fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).unwrap();
        symlink("outputs/deep", folder.path().join("folder")).unwrap();
        symlink("folder/real.txt", folder.path().join("link.txt")).unwrap();
        let mut reader = std::fs::File::open(&real).unwrap();
        assert!(!workspace.write("link.txt", b"new").unwrap(), "it was there before");
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(
            (text.as_str(), std::fs::read_to_string(&real).unwrap().as_str()),
            ("old", "new")
        );
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(std::fs::symlink_metadata(folder.path().join("link.txt")).unwrap().is_symlink());
        assert_eq!(
            std::fs::read_dir(folder.path().join("outputs/deep")).unwrap().count(),
            1,
            "nothing is left over"
        );
    }

    #[test]
    fn a_link_to_nothing_makes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        symlink("outputs/new.txt", folder.path().join("link.txt")).unwrap();
        assert!(
            workspace.write("link.txt", b"new").unwrap_err().to_string().contains("does not exist")
        );
        assert!(!folder.path().join("outputs/new.txt").exists());
    }
}
