//! A path that a model or a person wrote, as a place inside one of the folders that may be reached.

use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;

use super::{FILE, Workspace};
use crate::error::SandboxError;

/// A place inside a folder that may be reached. That the path stays inside is not decided here but
/// by the kernel, when the place is opened through the folder's handle.
#[derive(Debug)]
pub struct Location<'a> {
    /// The folder's handle.
    pub dir: &'a Dir,
    /// The path inside it; `.` for the folder itself.
    pub path: PathBuf,
    /// The whole path, for programs and people.
    pub whole: PathBuf,
    writable: bool,
    /// It is in the workspace itself.
    is_own: bool,
}

impl Location<'_> {
    /// Refuses to change what may only be looked at.
    ///
    /// # Errors
    /// When it may only be looked at.
    pub fn to_write(self) -> Result<Self, SandboxError> {
        // Whatever way leads there: through `.`, `..` or a link.
        if self.is_own
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
    /// The place that a path means: relative ones are in the workspace, absolute ones must lie in a
    /// granted folder.
    ///
    /// # Errors
    /// When it lies outside.
    pub fn place(&self, path: &str) -> Result<Location<'_>, SandboxError> {
        let written = Path::new(if path.is_empty() { "." } else { path });
        if path.contains('\0') {
            return Err(SandboxError::Path { path: path.to_owned(), why: "it holds a zero byte" });
        }
        let inside = |root: &super::Root| written.strip_prefix(&root.path).ok().map(Path::to_owned);
        let found = if written.is_absolute() {
            // The longest fits best: a folder inside the workspace may have been granted read-only.
            let mut fitting: Vec<_> =
                self.roots.iter().filter_map(|root| Some((root, inside(root)?))).collect();
            fitting.sort_by_key(|(root, _)| root.path.as_os_str().len());
            fitting.pop()
        } else {
            self.roots.first().map(|root| (root, written.to_owned()))
        };
        let Some((root, path)) = found else { return Err(self.outside(written)) };
        // Put together anew: without a slash at its end, which would hide what it names.
        let path: PathBuf = path.components().collect();
        let path = if path.as_os_str().is_empty() { PathBuf::from(".") } else { path };
        // A first look, for a clear word: links are the kernel's to judge.
        if climbs_out(&path) {
            return Err(self.outside(written));
        }
        let is_own = root.path == self.path();
        Ok(Location {
            dir: &root.dir,
            whole: root.path.join(&path),
            path,
            writable: root.writable,
            is_own,
        })
    }

    fn outside(&self, path: &Path) -> SandboxError {
        let mut allowed = vec![self.path().display().to_string()];
        allowed.extend(self.grants().map(|grant| grant.path.display().to_string()));
        SandboxError::Outside { path: path.display().to_string(), allowed }
    }

    /// The error for what the operating system said about a path.
    #[must_use]
    pub fn explain(&self, path: &str, error: std::io::Error) -> SandboxError {
        let path = path.to_owned();
        match error.kind() {
            std::io::ErrorKind::NotFound => SandboxError::NotFound { path },
            // A directory handle refuses a path that leads out without an error number; the kernel,
            // when it refuses a file for its mode, has one.
            std::io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                self.outside(Path::new(&path))
            }
            std::io::ErrorKind::PermissionDenied => SandboxError::Permissions { path },
            _ => SandboxError::Io { path, error },
        }
    }
}

/// Whether a path climbs out of its directory by its own components, without looking at links.
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
    fn only_what_leads_outside_is_said_to_be_outside() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(&folder.path().join("ws"), "s", &[]).unwrap();
        std::fs::write(folder.path().join("secret.txt"), "4711").unwrap();
        symlink("../secret.txt", folder.path().join("ws/link")).unwrap();
        symlink(folder.path(), folder.path().join("ws/folder")).unwrap();
        for path in ["link", "folder/secret.txt", "../secret.txt"] {
            let why = workspace.read(path).unwrap_err().to_string();
            assert!(why.starts_with(&format!("{path} is outside the directories")), "{why}");
        }
        // As the kernel says it of a file inside that its mode closes; to root it says so of none.
        let closed = std::io::Error::from_raw_os_error(rustix::io::Errno::ACCESS.raw_os_error());
        let why = workspace.explain("uploads/a.txt", closed).to_string();
        assert!(
            why.contains("the permissions of uploads/a.txt") && !why.contains("outside"),
            "{why}"
        );
    }
}
