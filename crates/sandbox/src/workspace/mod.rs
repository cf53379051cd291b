//! The folder of a session, and the folders its user granted beside it. Files are reached through
//! handles of these folders only: whatever a path says, and whoever changes links meanwhile, the
//! kernel does not let it lead out.

mod copy;
mod files;
mod location;

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

pub use files::{FILE_BYTES, Text};
pub use location::{Location, climbs_out};

use crate::error::SandboxError;
use crate::small_file;

/// The file that makes a folder a workspace.
pub const FILE: &str = "workspace.json";

/// The folders of a workspace.
pub const FOLDERS: [&str; 4] = ["skills", "uploads", "outputs", "temp"];

/// A folder beside the workspace that its user granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Which.
    pub path: PathBuf,
    /// Whether files in it may be changed.
    pub writable: bool,
}

impl std::str::FromStr for Grant {
    type Err = String;

    /// `FOLDER`, or `FOLDER:ro` for one that is only looked at.
    fn from_str(text: &str) -> Result<Self, String> {
        let (path, writable) = text.strip_suffix(":ro").map_or((text, true), |path| (path, false));
        if path.is_empty() {
            return Err("no folder is named; write FOLDER or FOLDER:ro".to_owned());
        }
        Ok(Self { path: PathBuf::from(path), writable })
    }
}

/// A folder that files may be reached in.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    pub(crate) dir: Dir,
    pub(crate) writable: bool,
}

/// The folder of a session.
#[derive(Debug)]
pub struct Workspace {
    /// The first is the workspace itself.
    roots: Vec<Root>,
}

/// What the file of a workspace says.
#[derive(Debug, Serialize, Deserialize)]
struct Metadata {
    session: String,
    created_at: String,
}

impl Workspace {
    /// Opens the workspace of a session; one that is not there is made.
    ///
    /// # Errors
    /// When it cannot be made, or belongs to another session; when a folder that is granted is not
    /// there.
    pub fn open(path: &Path, session: &str, grants: &[Grant]) -> Result<Self, SandboxError> {
        let refused = |why: String| SandboxError::Workspace { path: path.to_owned(), why };
        make(path).map_err(|error| refused(error.to_string()))?;
        let mut roots = vec![root(path, true).map_err(|error| refused(error.to_string()))?];
        for grant in grants {
            let not_granted = |why: String| SandboxError::Grant { path: grant.path.clone(), why };
            let granted = root(&grant.path, grant.writable)
                .map_err(|error| not_granted(error.to_string()))?;
            roots.push(granted);
        }
        // The kernel cannot keep a part of what commands may change from being changed.
        for sealed in roots.iter().filter(|root| !root.writable) {
            if let Some(around) =
                roots.iter().find(|root| root.writable && sealed.path.starts_with(&root.path))
            {
                let why = format!("it lies in {}, which may be changed", around.path.display());
                return Err(SandboxError::Grant { path: sealed.path.clone(), why });
            }
        }
        let workspace = Self { roots };
        workspace.claim(session).map_err(refused)?;
        Ok(workspace)
    }

    /// Writes down whose workspace it is, or makes sure that it is this session's. What stands
    /// there may have been put there by a command: it is looked at through the folder's handle, and
    /// nothing but a plain file is read or written.
    fn claim(&self, session: &str) -> Result<(), String> {
        let Some(own) = self.roots.first() else { return Ok(()) };
        // A folder that has the session's name is its own: a command must not be able to lock it
        // out.
        let is_own =
            self.path().file_name().is_some_and(|name| name == directory_name(session).as_str());
        let wrong = match own.dir.symlink_metadata(FILE) {
            Err(_) => return sign(&own.dir, session),
            Ok(metadata) if !metadata.is_file() => format!("its {FILE} is no plain file"),
            Ok(_) => {
                let text = match self.read_text(FILE) {
                    Ok(read) => read.text,
                    Err(_) if is_own => String::new(),
                    Err(error) => return Err(error.to_string()),
                };
                match serde_json::from_str::<Metadata>(&text) {
                    Ok(metadata) if metadata.session != session => {
                        format!("it belongs to session {}", metadata.session)
                    }
                    Err(_) if is_own => format!("its {FILE} cannot be read"),
                    _ => return Ok(()),
                }
            }
        };
        if !is_own {
            return Err(wrong);
        }
        own.dir
            .remove_file(FILE)
            .or_else(|_| own.dir.remove_dir_all(FILE))
            .map_err(|error| error.to_string())?;
        sign(&own.dir, session)
    }

    /// Whose workspace a folder is, if it is one.
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

    /// Whether a folder is the workspace of a session: it lies where workspaces are and has the
    /// session's name, whatever a command wrote into it, or its file names the session.
    #[must_use]
    pub fn is_of(path: &Path, session: &str, workspaces: &Path) -> bool {
        let is_there =
            path.is_absolute() && path.parent().is_some_and(|parent| is_same(parent, workspaces));
        let is_named =
            path.file_name().is_some_and(|name| name == directory_name(session).as_str());
        (is_there && is_named) || Self::owner(path).is_some_and(|owner| owner == session)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.roots.first().map_or(Path::new("."), |root| &root.path)
    }

    /// The folders beside it that were granted.
    pub fn grants(&self) -> impl Iterator<Item = Grant> + '_ {
        self.roots
            .iter()
            .skip(1)
            .map(|root| Grant { path: root.path.clone(), writable: root.writable })
    }
}

/// Writes down whose workspace a folder is, and since when.
fn sign(dir: &Dir, session: &str) -> Result<(), String> {
    let metadata =
        Metadata { session: session.to_owned(), created_at: jiff::Timestamp::now().to_string() };
    let text = serde_json::to_string_pretty(&metadata).unwrap_or_default();
    let mut options = cap_std::fs::OpenOptions::new();
    let file = dir.open_with(FILE, options.write(true).create_new(true));
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| error.to_string())
}

/// Makes a workspace, or makes one usable again that a command closed or put a file into the place
/// of a folder of.
fn make(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
    FOLDERS.iter().try_for_each(|folder| {
        let place = path.join(folder);
        if std::fs::symlink_metadata(&place).is_ok_and(|found| !found.is_dir()) {
            std::fs::rename(&place, path.join(format!("{folder}.moved")))?;
        }
        builder.create(place)
    })
}

fn root(path: &Path, writable: bool) -> std::io::Result<Root> {
    let path = path.canonicalize()?;
    let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
    Ok(Root { path, dir, writable })
}

/// Whether two paths lead to the same directory.
#[must_use]
pub fn is_same(left: &Path, right: &Path) -> bool {
    left == right
        || left
            .canonicalize()
            .is_ok_and(|left| right.canonicalize().is_ok_and(|right| left == right))
}

/// The name of the workspace directory for a session id, which may hold any characters.
#[must_use]
pub fn directory_name(session: &str) -> String {
    let allowed = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let plain: String = session.chars().map(allowed).take(80).collect();
    if plain == session && !plain.starts_with('.') {
        return plain;
    }
    // Two ids must not share a directory because they look alike.
    let hash: String = blake3::hash(session.as_bytes()).to_hex().chars().take(8).collect();
    format!("{}-{hash}", plain.trim_start_matches('.'))
}
