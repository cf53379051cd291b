//! Keeps the contents of protected paths in memory and restores them, for kernels that do not allow
//! a mount namespace.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::find::Item;
use super::{Blocked, GIT, git, put_back};

/// Limits of one snapshot. Protected directories are small.
const MAX_FILES: usize = 2_000;
const MAX_FILE_BYTES: u64 = 1_000_000;

/// The files of protected paths with their contents and modes.
#[derive(Debug)]
pub(super) struct Snapshot {
    roots: BTreeMap<PathBuf, Item>,
    files: BTreeMap<PathBuf, (Vec<u8>, u32)>,
}

impl Snapshot {
    pub(super) fn take(items: &BTreeMap<PathBuf, Item>) -> Self {
        let roots: BTreeMap<PathBuf, Item> = items
            .iter()
            .filter(|(_, item)| item.link.is_none())
            .map(|(path, item)| (path.clone(), item.clone()))
            .collect();
        let files = list(&roots)
            .into_keys()
            .filter_map(|path| Some((path.clone(), content(&path)?)))
            .collect();
        Self { roots, files }
    }

    /// Restores files that were changed or removed, and renames those that are new.
    pub(super) fn restore(&self) -> Vec<Blocked> {
        let mut blocked = Vec::new();
        let mut names: BTreeMap<PathBuf, &'static str> = list(&self.roots);
        for path in self.files.keys() {
            let root = self.roots.iter().find(|(root, _)| path.starts_with(root));
            names.entry(path.clone()).or_insert(root.map_or(GIT, |(_, item)| item.name));
        }
        for (path, name) in names {
            let before = self.files.get(&path);
            let now = content(&path);
            if before == now.as_ref() {
                continue;
            }
            let moved_to = put_back::rename_blocked(&path);
            if let Some((bytes, mode)) = before
                && let Err(error) = put_back::file(&path, bytes, *mode)
            {
                tracing::warn!(
                    target: "waterline::sandbox", path = %path.display(), %error,
                    "cannot restore a protected file"
                );
            }
            blocked.push(Blocked { path, name: name.to_owned(), moved_to });
        }
        blocked
    }
}

/// Lists the files of protected paths. Of a git directory only those count that decide which
/// programs git runs.
fn list(roots: &BTreeMap<PathBuf, Item>) -> BTreeMap<PathBuf, &'static str> {
    let mut files = BTreeMap::new();
    for (root, item) in roots {
        if item.name == GIT && root.is_dir() {
            for (part, name) in git::PARTS {
                walk(&root.join(part), name, &mut files);
            }
        } else {
            walk(root, item.name, &mut files);
        }
    }
    files
}

fn walk(path: &Path, name: &'static str, files: &mut BTreeMap<PathBuf, &'static str>) {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return };
    if files.len() >= MAX_FILES {
        return;
    }
    if !metadata.is_dir() {
        files.insert(path.to_owned(), name);
        return;
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        walk(&entry.path(), name, files);
    }
}

/// Returns the content and the mode of a regular file.
fn content(path: &Path) -> Option<(Vec<u8>, u32)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return None;
    }
    Some((std::fs::read(path).ok()?, metadata.permissions().mode() & 0o777))
}
