//! Small files that people write by hand: settings, roles, skills. What is no plain file, or far
//! too large to be one of these, is refused: a pipe would be waited for without end, and a device
//! would fill the memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};

use crate::open::open_in;

/// More than this nobody writes by hand.
const BYTES: u64 = 1_000_000;

/// Reads a file of the user's own. A link is followed: some keep their settings elsewhere and link
/// them here.
///
/// # Errors
/// When it is not there, no plain file, too large, or no text. The error names the file.
pub fn read(path: &Path) -> io::Result<String> {
    // A pipe must not keep whoever opens it waiting, and a terminal must not become ours.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened =
        rustix::fs::open(path, flags, Mode::empty()).map(File::from).map_err(io::Error::from);
    text(opened, path)
}

/// Reads a file that came with a folder, perhaps from somebody else: no link leads out of that
/// folder. `path` begins there.
///
/// # Errors
/// As for a file of the user's own; also when a link leads out.
pub fn read_inside(folder: &Path, path: &Path) -> io::Result<String> {
    let whole = if folder == Path::new(".") { path.to_owned() } else { folder.join(path) };
    let opened =
        Dir::open_ambient_dir(folder, ambient_authority()).and_then(|dir| open_in(&dir, path));
    let opened = opened.map(cap_std::fs::File::into_std).map_err(|error| match error.kind() {
        // The kernel says of both only that the permission is missing.
        ErrorKind::PermissionDenied => io::Error::new(
            error.kind(),
            "it may not be read, or it is a link that leads out of its folder",
        ),
        _ => error,
    });
    text(opened, &whole)
}

/// The text of a file that was opened without looking at what it is.
fn text(opened: io::Result<File>, path: &Path) -> io::Result<String> {
    let refused = |kind: ErrorKind, why: &str| {
        io::Error::new(kind, format!("cannot read {}: {why}", path.display()))
    };
    let failed = |error: io::Error| refused(error.kind(), &error.to_string());
    let file = opened.map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(refused(ErrorKind::InvalidInput, "it is no plain file"));
    }
    let mut bytes = Vec::new();
    file.take(BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > BYTES {
        return Err(refused(ErrorKind::InvalidData, "it has more than 1 MB"));
    }
    String::from_utf8(bytes).map_err(|_| refused(ErrorKind::InvalidData, "it is no text in UTF-8"))
}

/// A folder of such files: the user's own, or one that came with a project, perhaps from somebody
/// else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
    /// The project that it came with: no link in it leads out of there.
    project: Option<PathBuf>,
}

impl Folder {
    /// A folder of the user's own.
    pub fn own(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), project: None }
    }

    /// A folder that lies in a project's, at `path` from there.
    pub fn of_project(project: impl Into<PathBuf>, path: impl AsRef<Path>) -> Self {
        let project = project.into();
        Self { path: project.join(path), project: Some(project) }
    }

    /// Whether somebody else may have made it.
    #[must_use]
    pub const fn is_foreign(&self) -> bool {
        self.project.is_some()
    }

    /// The paths of what is in it, by name; none where it cannot be looked into.
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

    /// Reads a file in it, by the whole path that [`Folder::entries`] gave.
    ///
    /// # Errors
    /// When it is not there, no plain file, too large, or no text; also when it came with a project
    /// and a link leads out of that.
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

    fn why(read: io::Result<String>) -> String {
        read.unwrap_err().to_string()
    }

    #[test]
    fn only_a_plain_and_small_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("good"), "words").unwrap();
        std::fs::write(at("large"), vec![b' '; 1_000_001]).unwrap();
        std::fs::write(at("bytes"), [0xff]).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        assert_eq!(read(&at("good")).unwrap(), "words");
        assert_eq!(read_inside(folder.path(), Path::new("good")).unwrap(), "words");
        for (name, reason) in [("pipe", "no plain file"), ("large", "1 MB"), ("bytes", "no text")] {
            for said in [why(read(&at(name))), why(read_inside(folder.path(), Path::new(name)))] {
                assert!(said.contains(reason) && said.contains(name), "{name}: {said}");
            }
        }
        assert!(why(read(folder.path())).contains("no plain file"));
        assert!(why(read(&at("endless"))).contains("no plain file"));
        assert!(why(read_inside(folder.path(), Path::new("endless"))).contains("leads out"));
        assert_eq!(read(&at("none")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(
            read_inside(folder.path(), Path::new("none")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }

    /// Whoever keeps settings elsewhere links them; a folder from somebody else does not get at
    /// files beside it so.
    #[test]
    fn a_link_is_followed_for_the_user_and_leads_out_of_no_project() {
        let place = tempfile::tempdir().unwrap();
        let project = place.path().join("project");
        std::fs::create_dir_all(project.join("roles")).unwrap();
        std::fs::create_dir(place.path().join("outside")).unwrap();
        std::fs::write(place.path().join("outside/secret.toml"), "secret").unwrap();
        std::fs::write(project.join("inside.toml"), "inside").unwrap();
        symlink("../../outside/secret.toml", project.join("roles/out.toml")).unwrap();
        symlink("../inside.toml", project.join("roles/in.toml")).unwrap();
        symlink("../outside", project.join("linked")).unwrap();

        assert_eq!(read(&project.join("roles/out.toml")).unwrap(), "secret");
        let roles = Folder::of_project(&project, "roles");
        let found = roles.entries();
        assert_eq!(found, [project.join("roles/in.toml"), project.join("roles/out.toml")]);
        assert_eq!(roles.read(&found[0]).unwrap(), "inside");
        assert!(why(roles.read(&found[1])).contains("leads out"));
        assert!(Folder::of_project(&project, "linked").entries().is_empty());
        assert_eq!(
            Folder::own(project.join("linked")).entries(),
            [project.join("linked/secret.toml")]
        );
    }
}
