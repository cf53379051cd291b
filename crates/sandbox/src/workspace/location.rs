//! Resolves a path that a model or a user wrote to a location in an accessible directory.

use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;

use super::{FILE, Workspace};
use crate::error::SandboxError;
use crate::reason::PathReason;

/// A location in an accessible directory. Whether the path stays inside is decided by the kernel,
/// when the location is opened through the directory's handle.
#[derive(Debug)]
pub struct Location<'a> {
    /// The directory's handle.
    pub dir: &'a Dir,
    /// The path inside the directory; `.` for the directory itself.
    pub path: PathBuf,
    /// The absolute path, for other programs and for messages.
    pub whole: PathBuf,
    writable: bool,
    in_workspace: bool,
}

impl Location<'_> {
    /// Returns whether protected paths count at this location: in granted directories, not in the
    /// workspace.
    pub(super) const fn is_guarded(&self) -> bool {
        !self.in_workspace
    }

    /// Returns the location if it may be changed.
    ///
    /// # Errors
    /// When it is read-only or protected.
    pub fn to_write(self) -> Result<Self, SandboxError> {
        // The path is resolved, because it may lead there through `.`, `..` or a link.
        if self.in_workspace
            && self.dir.canonicalize(&self.path).is_ok_and(|real| real == Path::new(FILE))
        {
            return Err(SandboxError::Protected { path: FILE });
        }
        if self.writable {
            return Ok(self);
        }
        Err(SandboxError::ReadOnly { path: self.whole })
    }
}

impl Workspace {
    /// Resolves a path. A relative path starts in the working directory; an absolute path must be
    /// in the workspace or a granted directory.
    ///
    /// # Errors
    /// When the path is invalid or outside.
    pub fn location(&self, path: &str) -> Result<Location<'_>, SandboxError> {
        let written = Path::new(if path.is_empty() { "." } else { path });
        if path.contains('\0') {
            return Err(SandboxError::Path { path: path.to_owned(), why: PathReason::NulByte });
        }
        let absolute = self.working_directory().join(written);
        let inside =
            |root: &super::Root| absolute.strip_prefix(&root.path).ok().map(Path::to_owned);
        // The longest match wins, because grants may be nested.
        let matches = self.roots.iter().filter_map(|root| Some((root, inside(root)?)));
        let found = matches.max_by_key(|(root, _)| root.path.as_os_str().len());
        let Some((root, path)) = found else { return Err(self.outside(written)) };
        // Rebuilt from its components to drop a trailing slash, which would follow a link.
        let rebuilt: PathBuf = path.components().collect();
        let path = if rebuilt.as_os_str().is_empty() { PathBuf::from(".") } else { rebuilt };
        // An early check for a clear error. The kernel checks links.
        if climbs_out(&path) {
            return Err(self.outside(written));
        }
        Ok(Location {
            dir: &root.dir,
            whole: root.path.join(&path),
            path,
            writable: root.writable,
            in_workspace: root.path == self.path(),
        })
    }

    fn outside(&self, path: &Path) -> SandboxError {
        let mut allowed = vec![self.path().display().to_string()];
        allowed.extend(self.grants().map(|grant| grant.path.display().to_string()));
        let whole = without_parents(&self.working_directory().join(path));
        SandboxError::Outside { path: path.display().to_string(), whole, allowed }
    }

    /// Converts an I/O error about a path into a [`SandboxError`].
    #[must_use]
    pub fn explain(&self, path: &str, error: std::io::Error) -> SandboxError {
        let path = path.to_owned();
        match error.kind() {
            std::io::ErrorKind::NotFound => SandboxError::NotFound { path },
            // A path that leads out of a directory handle is denied without an OS error code; a
            // file whose mode forbids access is denied with one.
            std::io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                self.outside(Path::new(&path))
            }
            std::io::ErrorKind::PermissionDenied => SandboxError::Permissions { path },
            _ => SandboxError::Io { path, error },
        }
    }
}

/// Returns an absolute path without `.` and `..`, without following links.
fn without_parents(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            _ => whole.push(part),
        }
    }
    whole
}

/// Returns whether a path leads out of its directory through `..`, without following links.
#[must_use]
pub fn climbs_out(path: &Path) -> bool {
    let mut depth = 0_i32;
    path.components().any(|part| {
        match part {
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
        depth < 0
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn relative_paths_start_in_the_working_directory() {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().join("project");
        std::fs::create_dir_all(project.join("src")).unwrap();
        std::fs::write(project.join("a.txt"), "top").unwrap();
        std::fs::write(temp.path().join("secret.txt"), "4711").unwrap();
        let grant = super::super::Grant { path: project.clone(), writable: true };
        let open = || Workspace::open(&temp.path().join("ws"), "s", std::slice::from_ref(&grant));
        let workspace = open().unwrap().work_in(&project.join("src")).unwrap();
        workspace.write("b.txt", b"new").unwrap();
        assert_eq!(std::fs::read(project.join("src/b.txt")).unwrap(), b"new");
        assert_eq!(workspace.read("../a.txt").unwrap(), b"top");
        let why = workspace.read("../../secret.txt").unwrap_err().to_string();
        assert!(why.contains("is outside the directories"), "{why}");
        let own = workspace.path().join("outputs/c.txt").display().to_string();
        workspace.write(&own, b"own").unwrap();
        let why = open().unwrap().work_in(temp.path()).unwrap_err().to_string();
        assert!(why.contains("not in a granted directory"), "{why}");
    }

    #[test]
    fn only_paths_that_lead_outside_are_reported_as_outside() {
        let temp = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(&temp.path().join("ws"), "s", &[]).unwrap();
        std::fs::write(temp.path().join("secret.txt"), "4711").unwrap();
        symlink("../secret.txt", temp.path().join("ws/link")).unwrap();
        symlink(temp.path(), temp.path().join("ws/directory")).unwrap();
        for path in ["link", "directory/secret.txt", "../secret.txt"] {
            let why = workspace.read(path).unwrap_err().to_string();
            assert!(why.starts_with(&format!("{path} is outside the directories")), "{why}");
        }
        // The kernel's error for a file whose mode forbids access. Made by hand, because root never
        // gets it.
        let closed = std::io::Error::from_raw_os_error(rustix::io::Errno::ACCESS.raw_os_error());
        let why = workspace.explain("uploads/a.txt", closed).to_string();
        assert!(
            why.contains("permission denied: uploads/a.txt") && !why.contains("outside"),
            "{why}"
        );
    }
}
