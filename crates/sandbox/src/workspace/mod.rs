//! The workspace of a session, and other directories that the user granted. Files are accessed only
//! through handles of these directories, so the kernel keeps every path inside, even if links are
//! changed at the same time.

mod copy;
mod files;
mod location;
mod restore;

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

pub use files::{FILE_BYTES, Text};
pub use location::{Location, climbs_out};
pub use restore::FileAt;

use crate::error::SandboxError;
use crate::reason::PathReason;
use crate::small_file;

/// The file that marks a directory as a workspace and records its session.
pub const FILE: &str = "workspace.json";

/// The subdirectories of a workspace.
pub const SUBDIRECTORIES: [&str; 4] = ["skills", "uploads", "outputs", "temp"];

/// A directory outside the workspace that the user granted access to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// The path of the directory.
    pub path: PathBuf,
    /// Whether files in it may be changed.
    pub writable: bool,
}

impl Grant {
    /// Creates a grant of a directory.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, writable: bool) -> Self {
        Self { path: path.into(), writable }
    }
}

/// The error for a grant without a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("missing directory; expected DIR or DIR:ro")]
pub struct NoDirectory;

impl std::str::FromStr for Grant {
    type Err = NoDirectory;

    /// Parses `DIR`, or `DIR:ro` for read-only access.
    fn from_str(text: &str) -> Result<Self, NoDirectory> {
        let (path, writable) = text.strip_suffix(":ro").map_or((text, true), |path| (path, false));
        if path.is_empty() {
            return Err(NoDirectory);
        }
        Ok(Self { path: PathBuf::from(path), writable })
    }
}

/// The workspace or a granted directory, with its handle.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    pub(crate) dir: Dir,
    pub(crate) writable: bool,
}

/// The private directory of a session, with the directories granted to it.
#[derive(Debug)]
pub struct Workspace {
    /// The workspace itself, then the grants.
    roots: Vec<Root>,
    /// Where relative paths start, if not in the workspace itself.
    working_directory: Option<PathBuf>,
}

/// The contents of [`FILE`].
#[derive(Debug, Serialize, Deserialize)]
struct Metadata {
    session: String,
    created_at: String,
}

impl Workspace {
    /// Opens the workspace of a session, and creates it if it does not exist.
    ///
    /// # Errors
    /// When it cannot be created, belongs to another session, or a granted directory does not
    /// exist.
    pub fn open(path: &Path, session: &str, grants: &[Grant]) -> Result<Self, SandboxError> {
        let refused = |why: PathReason| SandboxError::Workspace { path: path.to_owned(), why };
        make(path).map_err(|error| refused(error.into()))?;
        let mut roots = vec![root(path, true).map_err(|error| refused(error.into()))?];
        for grant in grants {
            let granted = root(&grant.path, grant.writable).map_err(|error| {
                SandboxError::Grant { path: grant.path.clone(), why: error.into() }
            })?;
            roots.push(granted);
        }
        // Landlock cannot make a part of a writable directory read-only.
        for read_only in roots.iter().filter(|root| !root.writable) {
            if let Some(outer) =
                roots.iter().find(|root| root.writable && read_only.path.starts_with(&root.path))
            {
                let why = PathReason::InsideWritable(outer.path.clone());
                return Err(SandboxError::Grant { path: read_only.path.clone(), why });
            }
        }
        let workspace = Self { roots, working_directory: None };
        workspace.claim(session).map_err(refused)?;
        Ok(workspace)
    }

    /// Records which session owns the workspace, or checks that this session does. A command may
    /// have replaced the file, so it is accessed through the directory's handle, and only a regular
    /// file is read or written.
    fn claim(&self, session: &str) -> Result<(), PathReason> {
        let Some(root) = self.roots.first() else { return Ok(()) };
        // A directory with the session's name belongs to the session, whatever the file says: a
        // command must not be able to lock the session out.
        let is_own =
            self.path().file_name().is_some_and(|name| name == directory_name(session).as_str());
        let problem = match root.dir.symlink_metadata(FILE) {
            Err(_) => return Ok(write_owner(&root.dir, session)?),
            Ok(metadata) if !metadata.is_file() => PathReason::OwnerNotRegular(FILE),
            Ok(_) => {
                let text = match self.read_text(FILE) {
                    Ok(read) => read.text,
                    Err(_) if is_own => String::new(),
                    Err(_) => return Err(PathReason::InvalidOwner(FILE)),
                };
                match serde_json::from_str::<Metadata>(&text) {
                    Ok(metadata) if metadata.session != session => {
                        PathReason::OtherSession(metadata.session)
                    }
                    Err(_) if is_own => PathReason::InvalidOwner(FILE),
                    _ => return Ok(()),
                }
            }
        };
        if !is_own {
            return Err(problem);
        }
        root.dir.remove_file(FILE).or_else(|_| root.dir.remove_dir_all(FILE))?;
        Ok(write_owner(&root.dir, session)?)
    }

    /// Returns the session that owns a directory, if the directory is a workspace.
    #[must_use]
    pub fn owner(path: &Path) -> Option<String> {
        let is_file =
            std::fs::symlink_metadata(path.join(FILE)).is_ok_and(|metadata| metadata.is_file());
        let text = if is_file {
            small_file::read_inside(path, Path::new(FILE)).ok()?
        } else {
            return None;
        };
        serde_json::from_str::<Metadata>(&text).ok().map(|metadata| metadata.session)
    }

    /// Returns whether a directory is the workspace of a session: it is in `workspaces` and has the
    /// session's name, whatever a command wrote into it, or its [`FILE`] names the session.
    #[must_use]
    pub fn is_of(path: &Path, session: &str, workspaces: &Path) -> bool {
        let is_in_workspaces =
            path.is_absolute() && path.parent().is_some_and(|parent| is_same(parent, workspaces));
        let has_name =
            path.file_name().is_some_and(|name| name == directory_name(session).as_str());
        (is_in_workspaces && has_name) || Self::owner(path).is_some_and(|owner| owner == session)
    }

    /// Makes relative paths start in a directory instead of the workspace itself.
    ///
    /// # Errors
    /// When it does not exist, or is neither in the workspace nor in a granted directory.
    pub fn work_in(mut self, directory: &Path) -> Result<Self, SandboxError> {
        let refused = |why: PathReason| SandboxError::Grant { path: directory.to_owned(), why };
        let path = directory.canonicalize().map_err(|error| refused(error.into()))?;
        if !path.is_dir() {
            return Err(refused(PathReason::NotDirectory));
        }
        if !self.roots.iter().any(|root| path.starts_with(&root.path)) {
            return Err(refused(PathReason::NotGranted));
        }
        self.working_directory = Some(path);
        Ok(self)
    }

    /// Returns the directory in which relative paths and commands start.
    #[must_use]
    pub fn working_directory(&self) -> &Path {
        self.working_directory.as_deref().unwrap_or_else(|| self.path())
    }

    /// Returns the path of the workspace.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.roots.first().map_or(Path::new("."), |root| &root.path)
    }

    /// Returns the granted directories.
    pub fn grants(&self) -> impl Iterator<Item = Grant> + '_ {
        self.roots
            .iter()
            .skip(1)
            .map(|root| Grant { path: root.path.clone(), writable: root.writable })
    }
}

/// Records the session that owns a workspace, and the time.
fn write_owner(dir: &Dir, session: &str) -> std::io::Result<()> {
    let metadata =
        Metadata { session: session.to_owned(), created_at: jiff::Timestamp::now().to_string() };
    let text = serde_json::to_string_pretty(&metadata).unwrap_or_default();
    let mut options = cap_std::fs::OpenOptions::new();
    let file = dir.open_with(FILE, options.write(true).create_new(true));
    file.and_then(|mut file| file.write_all(text.as_bytes()))
}

/// Creates a workspace, or repairs one: a command may have changed its mode or replaced one of its
/// subdirectories with a file.
fn make(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
    SUBDIRECTORIES.iter().try_for_each(|name| {
        let directory = path.join(name);
        if std::fs::symlink_metadata(&directory).is_ok_and(|metadata| !metadata.is_dir()) {
            std::fs::rename(&directory, path.join(format!("{name}.moved")))?;
        }
        builder.create(directory)
    })
}

fn root(path: &Path, writable: bool) -> std::io::Result<Root> {
    let path = path.canonicalize()?;
    let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
    Ok(Root { path, dir, writable })
}

/// Returns whether two paths lead to the same directory.
#[must_use]
pub fn is_same(left: &Path, right: &Path) -> bool {
    left == right
        || left
            .canonicalize()
            .is_ok_and(|left| right.canonicalize().is_ok_and(|right| left == right))
}

/// Returns the name of the workspace directory for a session id, which may contain any characters.
#[must_use]
pub fn directory_name(session: &str) -> String {
    let allowed = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let plain: String = session.chars().map(allowed).take(80).collect();
    if plain == session && !plain.starts_with('.') {
        return plain;
    }
    // Two similar ids must not share a directory.
    let hash: String = blake3::hash(session.as_bytes()).to_hex().chars().take(8).collect();
    format!("{}-{hash}", plain.trim_start_matches('.'))
}
