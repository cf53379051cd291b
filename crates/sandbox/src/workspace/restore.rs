//! Reads and restores files as they are, without following links. All of these functions block.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, Permissions};

use super::files::replace;
use super::{Location, Workspace};
use crate::error::SandboxError;
use crate::open::open_in;
use crate::reason::PathReason;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileAt {
    /// Nothing.
    Missing,
    /// A regular file.
    File {
        /// All bytes of the file.
        bytes: Vec<u8>,
        /// Its mode, without the file type.
        mode: u32,
    },
    /// A regular file that is larger than the limit.
    Large {
        /// Its size in bytes.
        size: u64,
        /// When it was changed, in nanoseconds since 1970.
        modified: i128,
    },
    /// A directory, a link or a special file.
    Other,
}

impl Workspace {
    /// Returns the writable directories with their handles, without those that are inside another.
    pub fn writable_roots(&self) -> impl Iterator<Item = (&Path, &Dir)> {
        let is_outer = |root: &&super::Root| {
            root.writable
                && !self.roots.iter().any(|other| {
                    other.writable && other.path != root.path && root.path.starts_with(&other.path)
                })
        };
        let mut seen: Vec<&Path> = Vec::new();
        self.roots.iter().filter(is_outer).filter_map(move |root| {
            let is_new = !seen.contains(&root.path.as_path());
            seen.push(&root.path);
            is_new.then_some((root.path.as_path(), &root.dir))
        })
    }

    /// Returns the absolute path of a file after following the links in `path`. The file need not
    /// exist.
    ///
    /// # Errors
    /// When the path is outside.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, SandboxError> {
        let location = self.location(path)?;
        let root = self
            .roots
            .iter()
            .find(|root| std::ptr::eq(&raw const root.dir, location.dir))
            .map_or(Path::new("/"), |root| root.path.as_path());
        let explain = |error: std::io::Error| self.explain(path, error);
        let mut missing = Vec::new();
        let mut existing = location.path.as_path();
        loop {
            match location.dir.canonicalize(existing) {
                Ok(real) => {
                    let whole =
                        missing.iter().rev().fold(root.join(real), |at, name| at.join(name));
                    return Ok(whole.components().collect());
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    let Some(name) = existing.file_name() else { return Err(explain(error)) };
                    missing.push(name);
                    existing = existing
                        .parent()
                        .filter(|parent| !parent.as_os_str().is_empty())
                        .unwrap_or(Path::new("."));
                }
                Err(error) => return Err(explain(error)),
            }
        }
    }

    /// Returns what is at a path. A link is not followed.
    ///
    /// # Errors
    /// When the path is outside or cannot be read.
    pub fn file_at(&self, path: &str, max_bytes: u64) -> Result<FileAt, SandboxError> {
        let location = self.location(path)?;
        let explain = |error: std::io::Error| self.explain(path, error);
        let metadata = match location.dir.symlink_metadata(&location.path) {
            Ok(metadata) => metadata,
            Err(error) if is_missing(&error) => return Ok(FileAt::Missing),
            Err(error) => return Err(explain(error)),
        };
        if !metadata.is_file() {
            return Ok(FileAt::Other);
        }
        let file = open_in(location.dir, &location.path).map_err(explain)?;
        let metadata = file.metadata().map_err(explain)?;
        if !metadata.is_file() {
            return Ok(FileAt::Other);
        }
        if metadata.len() > max_bytes {
            use cap_std::fs::MetadataExt;
            let modified =
                i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
            return Ok(FileAt::Large { size: metadata.len(), modified });
        }
        let mut bytes = Vec::new();
        file.take(max_bytes).read_to_end(&mut bytes).map_err(explain)?;
        Ok(FileAt::File { bytes, mode: mode_of(&metadata.permissions()) })
    }

    /// Restores a file atomically, with its mode if that is known, and creates its parent
    /// directories. A link at the path is replaced; a link among its parents is refused.
    ///
    /// # Errors
    /// When the path is outside or read-only, leads through a link, or cannot be written.
    pub fn restore_file(
        &self,
        path: &str,
        bytes: &[u8],
        mode: Option<u32>,
    ) -> Result<(), SandboxError> {
        let location = self.location(path)?.to_write()?;
        let explain = |error: std::io::Error| self.explain(path, error);
        let (parent, name) = parent_and_name(path, &location)?;
        location.dir.create_dir_all(parent).map_err(explain)?;
        let directory = location.dir.open_dir(parent).map_err(explain)?;
        if directory.symlink_metadata(name).is_ok_and(|metadata| metadata.is_dir()) {
            return Err(SandboxError::IsDirectory { path: path.to_owned() });
        }
        let mode =
            mode.map(|mode| Permissions::from_std(std::fs::Permissions::from_mode(mode & 0o777)));
        replace(&directory, Path::new(name), bytes, mode).map_err(explain)
    }

    /// Removes a file or a link. A link is not followed.
    ///
    /// # Errors
    /// When the path is outside or read-only, leads through a link, or cannot be removed.
    pub fn remove_file(&self, path: &str) -> Result<(), SandboxError> {
        let location = self.location(path)?.to_write()?;
        parent_and_name(path, &location)?;
        match location.dir.remove_file(&location.path) {
            Err(error) if !is_missing(&error) => Err(self.explain(path, error)),
            _ => Ok(()),
        }
    }

    /// Creates a directory and its parents, unless it exists. A link among its parents is refused.
    ///
    /// # Errors
    /// When the path is outside or read-only, leads through a link, or cannot be created.
    pub fn create_directory(&self, path: &str) -> Result<(), SandboxError> {
        let location = self.location(path)?.to_write()?;
        parent_and_name(path, &location)?;
        location.dir.create_dir_all(&location.path).map_err(|error| self.explain(path, error))
    }

    /// Removes a directory if it is empty. Returns whether it was removed.
    ///
    /// # Errors
    /// When the path is outside or read-only, or leads through a link.
    pub fn remove_empty_directory(&self, path: &str) -> Result<bool, SandboxError> {
        let location = self.location(path)?.to_write()?;
        parent_and_name(path, &location)?;
        Ok(location.dir.remove_dir(&location.path).is_ok())
    }
}

/// Returns the mode of a file without its type.
fn mode_of(permissions: &Permissions) -> u32 {
    use cap_std::fs::PermissionsExt;
    permissions.mode() & 0o777
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Returns the directory and the name of a location. Its existing parents must not be links: the
/// file would be somewhere else.
fn parent_and_name<'a>(
    path: &str,
    location: &'a Location<'_>,
) -> Result<(&'a Path, &'a std::ffi::OsStr), SandboxError> {
    let refused = |why| SandboxError::Path { path: path.to_owned(), why };
    let name = location.path.file_name().ok_or_else(|| refused(PathReason::NoFileName))?;
    let parent = location.path.parent().filter(|parent| !parent.as_os_str().is_empty());
    for ancestor in parent.into_iter().flat_map(Path::ancestors) {
        let metadata = location.dir.symlink_metadata(ancestor);
        if !ancestor.as_os_str().is_empty() && metadata.is_ok_and(|found| found.is_symlink()) {
            return Err(refused(PathReason::ThroughLink));
        }
    }
    Ok((parent.unwrap_or(Path::new(".")), name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_restored_file_has_its_mode_and_no_link_is_followed() {
        let temp = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(&temp.path().join("ws"), "s", &[]).unwrap();
        let root = temp.path().join("ws");
        workspace.restore_file("deep/run.sh", b"#!/bin/sh\n", Some(0o755)).unwrap();
        let found = workspace.file_at("deep/run.sh", 100).unwrap();
        assert_eq!(found, FileAt::File { bytes: b"#!/bin/sh\n".to_vec(), mode: 0o755 });
        assert!(matches!(
            workspace.file_at("deep/run.sh", 3).unwrap(),
            FileAt::Large { size: 10, .. }
        ));
        std::fs::write(temp.path().join("outside"), "kept").unwrap();
        symlink("../outside", root.join("link")).unwrap();
        assert_eq!(workspace.file_at("link", 100).unwrap(), FileAt::Other);
        workspace.restore_file("link", b"new", None).unwrap();
        assert_eq!(std::fs::read_to_string(root.join("link")).unwrap(), "new");
        assert_eq!(std::fs::read_to_string(temp.path().join("outside")).unwrap(), "kept");
        symlink("deep", root.join("directory")).unwrap();
        for why in [
            workspace.restore_file("directory/run.sh", b"", None).unwrap_err(),
            workspace.remove_file("directory/run.sh").unwrap_err(),
        ] {
            assert!(why.to_string().contains("symbolic link"), "{why}");
        }
        assert_eq!(
            workspace.resolve("directory/new.txt").unwrap(),
            root.canonicalize().unwrap().join("deep/new.txt")
        );
        assert!(!workspace.remove_empty_directory("deep").unwrap(), "it is not empty");
        workspace.remove_file("deep/run.sh").unwrap();
        workspace.remove_file("deep/run.sh").unwrap();
        assert!(workspace.remove_empty_directory("directory/..").is_err());
        assert!(!workspace.remove_empty_directory("directory").unwrap(), "it is a link");
        assert!(workspace.remove_empty_directory(".").is_err());
        assert!(workspace.remove_empty_directory("deep").unwrap());
        assert_eq!(workspace.file_at("deep/run.sh", 100).unwrap(), FileAt::Missing);
        assert_eq!(workspace.file_at("link/below", 100).unwrap(), FileAt::Missing);
    }

    #[test]
    fn a_restored_file_stays_inside_the_writable_directories() {
        let temp = tempfile::tempdir().unwrap();
        let granted = temp.path().join("granted");
        std::fs::create_dir(&granted).unwrap();
        let grants = [super::super::Grant { path: granted.clone(), writable: false }];
        let workspace = Workspace::open(&temp.path().join("ws"), "s", &grants).unwrap();
        let inside = granted.canonicalize().unwrap().join("a").display().to_string();
        assert!(workspace.restore_file(&inside, b"", None).is_err());
        assert!(workspace.restore_file("../a", b"", None).is_err());
        assert!(workspace.remove_file("/etc/hosts").is_err());
        assert_eq!(workspace.writable_roots().count(), 1);
    }
}
