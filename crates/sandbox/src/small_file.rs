//! Reads small files that people write by hand: settings, roles, skills. It rejects anything that
//! is not a regular file, because a pipe would block and a device would fill the memory, and files
//! that are far too large.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};

use crate::open::open_in;
use crate::reason::PathReason;

/// Why a small file was not read. The functions of this module return it in an [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {why}", path.display())]
#[non_exhaustive]
pub struct ReadError {
    /// The path that was to be read.
    pub path: PathBuf,
    /// What is wrong with the file.
    pub why: PathReason,
}

/// The largest file that is read.
const MAX_BYTES: u64 = 1_000_000;

/// Reads one of the user's own files. Links are followed: some users keep their settings elsewhere
/// and link to them.
///
/// # Errors
/// When the file does not exist, is not a regular file, is too large, or is not UTF-8. The error
/// names the file.
pub fn read(path: &Path) -> io::Result<String> {
    // Opening a pipe must not block, and a terminal must not become the controlling one.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from);
    let file = opened.map_err(|error| refused(error.kind(), path, error.into()))?;
    text(file.into(), path)
}

/// Reads a file that came with a directory, perhaps from someone else. `path` is relative to that
/// directory, and no link may lead out of it.
///
/// # Errors
/// The same as [`read`], and when a link leads out.
pub fn read_inside(directory: &Path, path: &Path) -> io::Result<String> {
    let full_path =
        if directory == Path::new(".") { path.to_owned() } else { directory.join(path) };
    let opened =
        Dir::open_ambient_dir(directory, ambient_authority()).and_then(|dir| open_in(&dir, path));
    let opened = opened.map(cap_std::fs::File::into_std).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => refused(error.kind(), &full_path, PathReason::DeniedOrLink),
        kind => refused(kind, &full_path, error.into()),
    });
    text(opened?, &full_path)
}

/// Returns the text of an open file, after checking that it is regular and not too large.
fn text(file: File, path: &Path) -> io::Result<String> {
    let failed = |error: io::Error| refused(error.kind(), path, error.into());
    let invalid = |why| refused(ErrorKind::InvalidData, path, why);
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(refused(ErrorKind::InvalidInput, path, PathReason::NotRegular));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(invalid(PathReason::TooLarge(MAX_BYTES)));
    }
    String::from_utf8(bytes).map_err(|_| invalid(PathReason::NotUtf8))
}

fn refused(kind: ErrorKind, path: &Path, why: PathReason) -> io::Error {
    io::Error::new(kind, ReadError { path: path.to_owned(), why })
}

/// A directory of small files: the user's own, or one that came with a project, perhaps from
/// someone else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    path: PathBuf,
    /// The project it came with. No link in the directory may lead out of the project.
    project: Option<PathBuf>,
}

impl Directory {
    /// A directory of the user's own files.
    pub fn own(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), project: None }
    }

    /// A directory in a project, at `path` relative to it.
    pub fn of_project(project: impl Into<PathBuf>, path: impl AsRef<Path>) -> Self {
        let project = project.into();
        Self { path: project.join(path), project: Some(project) }
    }

    /// Returns whether it came with a project, so that someone else may have written it.
    #[must_use]
    pub const fn is_foreign(&self) -> bool {
        self.project.is_some()
    }

    /// Returns the paths of the entries, sorted by name; `None` if the directory cannot be read.
    #[must_use]
    pub fn entries(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = match &self.project {
            None => std::fs::read_dir(&self.path)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .collect(),
            Some(project) => {
                let dir = Dir::open_ambient_dir(project, ambient_authority());
                let entries = dir.and_then(|dir| {
                    dir.read_dir(self.path.strip_prefix(project).unwrap_or(&self.path))
                });
                entries
                    .into_iter()
                    .flatten()
                    .flatten()
                    .map(|entry| self.path.join(entry.file_name()))
                    .collect()
            }
        };
        paths.sort();
        paths
    }

    /// Reads a file in the directory, by a path from [`Directory::entries`].
    ///
    /// # Errors
    /// When the file does not exist, is not a regular file, is too large, or is not UTF-8; for a
    /// project also when a link leads out of it.
    pub fn read(&self, path: &Path) -> io::Result<String> {
        match &self.project {
            None => read(path),
            Some(project) => read_inside(project, path.strip_prefix(project).unwrap_or(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn error(result: io::Result<String>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn only_small_regular_files_are_read() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        std::fs::write(at("good"), "text").unwrap();
        std::fs::write(at("large"), vec![b' '; 1_000_001]).unwrap();
        std::fs::write(at("bytes"), [0xff]).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        assert_eq!(read(&at("good")).unwrap(), "text");
        assert_eq!(read_inside(temp.path(), Path::new("good")).unwrap(), "text");
        for (name, reason) in
            [("pipe", "not a regular file"), ("large", "1 MB"), ("bytes", "not valid UTF-8")]
        {
            for message in
                [error(read(&at(name))), error(read_inside(temp.path(), Path::new(name)))]
            {
                assert!(message.contains(reason) && message.contains(name), "{name}: {message}");
            }
        }
        assert!(error(read(temp.path())).contains("not a regular file"));
        assert!(error(read(&at("endless"))).contains("not a regular file"));
        assert!(error(read_inside(temp.path(), Path::new("endless"))).contains("leads out"));
        assert_eq!(read(&at("none")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(
            read_inside(temp.path(), Path::new("none")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }

    /// Users may link to settings kept elsewhere; a project from someone else must not get at
    /// files outside it that way.
    #[test]
    fn links_are_followed_for_the_user_but_not_out_of_a_project() {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().join("project");
        std::fs::create_dir_all(project.join("roles")).unwrap();
        std::fs::create_dir(temp.path().join("outside")).unwrap();
        std::fs::write(temp.path().join("outside/secret.toml"), "secret").unwrap();
        std::fs::write(project.join("inside.toml"), "inside").unwrap();
        symlink("../../outside/secret.toml", project.join("roles/out.toml")).unwrap();
        symlink("../inside.toml", project.join("roles/in.toml")).unwrap();
        symlink("../outside", project.join("linked")).unwrap();

        assert_eq!(read(&project.join("roles/out.toml")).unwrap(), "secret");
        let roles = Directory::of_project(&project, "roles");
        let found = roles.entries();
        assert_eq!(found, [project.join("roles/in.toml"), project.join("roles/out.toml")]);
        assert_eq!(roles.read(&found[0]).unwrap(), "inside");
        assert!(error(roles.read(&found[1])).contains("leads out"));
        assert!(Directory::of_project(&project, "linked").entries().is_empty());
        assert_eq!(
            Directory::own(project.join("linked")).entries(),
            [project.join("linked/secret.toml")]
        );
    }
}
