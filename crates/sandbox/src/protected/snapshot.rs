//! Keeps the contents of protected paths in memory and restores them, for kernels that do not allow
//! a mount namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::find::{Item, make_accessible};
use super::{Blocked, GIT, put_back};

/// Limits of the contents that are kept of one protected path. Protected directories are small. The
/// other files of a larger one are recognized when they change, but cannot be restored.
const MAX_FILES: usize = 2_000;
const MAX_FILE_BYTES: u64 = 1_000_000;
const MAX_BYTES: u64 = 64_000_000;

/// Maximum number of files that are listed in one protected path.
const MAX_LISTED: usize = 100_000;

/// A file as it was before the command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    /// The content and the mode.
    File(Vec<u8>, u32),
    /// The target of a link.
    Link(PathBuf),
    /// The inode, the length and the time of the last change, which a program cannot set.
    Other(u64, u64, (i64, i64)),
}

impl Entry {
    /// Describes the file at a path; `None` if there is none.
    fn of(path: &Path, keep_content: bool) -> Option<Self> {
        let metadata = std::fs::symlink_metadata(path).ok()?;
        if metadata.is_symlink() {
            return Some(Self::Link(std::fs::read_link(path).ok()?));
        }
        if keep_content
            && metadata.is_file()
            && metadata.len() <= MAX_FILE_BYTES
            && let Ok(bytes) = std::fs::read(path)
        {
            return Some(Self::File(bytes, metadata.permissions().mode() & 0o777));
        }
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Some(Self::Other(metadata.ino(), metadata.len(), changed))
    }
}

/// The files of protected paths.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// The protected paths with their names, and whether a command may remove each.
    roots: BTreeMap<PathBuf, (&'static str, bool)>,
    files: BTreeMap<PathBuf, Entry>,
    /// Protected paths with more files than are listed. New files in them are not recognized.
    incomplete: BTreeSet<PathBuf>,
}

impl Snapshot {
    /// Keeps the contents of protected paths. `may_be_removed` says that a command may remove each
    /// with the directory above it, not only those in dependencies.
    pub(super) fn take<'a>(
        items: impl IntoIterator<Item = (&'a PathBuf, &'a Item)>,
        may_be_removed: bool,
    ) -> Self {
        let mut roots = BTreeMap::new();
        let mut files = BTreeMap::new();
        let mut incomplete = BTreeSet::new();
        for (root, item) in items {
            // Only the parts of a git directory count, and each is an item.
            if item.link.is_some() || item.name == GIT && root.is_dir() {
                continue;
            }
            roots.insert(root.clone(), (item.name, may_be_removed || item.is_removable));
            let mut listed = BTreeSet::new();
            if !list(root, MAX_LISTED, false, &mut listed) {
                incomplete.insert(root.clone());
            }
            let mut kept = 0;
            let mut bytes = 0;
            for path in listed {
                let keep_content = kept < MAX_FILES && bytes < MAX_BYTES;
                let Some(entry) = Entry::of(&path, keep_content) else { continue };
                if let Entry::File(content, _) = &entry {
                    kept += 1;
                    bytes += content.len() as u64;
                }
                files.insert(path, entry);
            }
        }
        Self { roots, files, incomplete }
    }

    /// Returns whether all contents of a protected path are kept.
    pub(super) fn has(&self, root: &Path) -> bool {
        self.roots.contains_key(root) && !self.incomplete.contains(root)
    }

    /// Restores files that were changed or removed, and renames those that are new. What was
    /// renamed earlier is left alone.
    pub(super) fn restore(&self, blocked: &mut Vec<Blocked>) {
        for (root, (name, is_removable)) in &self.roots {
            if *is_removable && is_removed(root, name) {
                continue;
            }
            let mut paths = BTreeSet::new();
            let is_complete = list(root, 2 * MAX_LISTED, true, &mut paths);
            let was_complete = !self.incomplete.contains(root);
            if was_complete && !is_complete {
                // Too many files to tell which are new. All of them are renamed at once.
                let moved_to = put_back::rename_blocked(root);
                blocked.push(Blocked { path: root.clone(), name: (*name).to_owned(), moved_to });
            }
            if !(was_complete && is_complete) {
                paths.clear();
            }
            let before = self.files.range(root.clone()..).map(|(path, _)| path);
            paths.extend(before.take_while(|path| path.starts_with(root)).cloned());
            for path in paths {
                let is_renamed = |one: &Blocked| {
                    one.moved_to.as_ref().is_some_and(|moved| path.starts_with(moved))
                };
                if !blocked.iter().any(is_renamed) {
                    blocked.extend(self.restore_file(path, name));
                }
            }
        }
    }

    /// Restores one file, if it changed.
    fn restore_file(&self, path: PathBuf, name: &str) -> Option<Blocked> {
        let before = self.files.get(&path);
        let now = Entry::of(&path, matches!(before, Some(Entry::File(..))));
        if before == now.as_ref() {
            return None;
        }
        let moved_to = put_back::rename_blocked(&path);
        let restored = match before {
            Some(Entry::File(bytes, mode)) => put_back::file(&path, bytes, *mode),
            Some(Entry::Link(target)) => put_back::link(&path, target).map_err(Into::into),
            Some(Entry::Other(..)) | None => Ok(()),
        };
        if let Err(error) = restored {
            tracing::warn!(
                target: "waterline::sandbox", path = %path.display(), %error,
                "cannot restore a protected file"
            );
        }
        Some(Blocked { path, name: name.to_owned(), moved_to })
    }
}

/// Returns whether a file that names a git directory is gone, or the directory of a part of one.
fn is_removed(root: &Path, name: &str) -> bool {
    let path = if name == GIT { Some(root) } else { root.parent() };
    path.is_none_or(|path| std::fs::symlink_metadata(path).is_err())
}

/// Lists the files at and below a path, and returns whether those are all. `make_readable` is for
/// directories that a command made unreadable.
fn list(path: &Path, limit: usize, make_readable: bool, files: &mut BTreeSet<PathBuf>) -> bool {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return true };
    if files.len() >= limit {
        return false;
    }
    if !metadata.is_dir() {
        files.insert(path.to_owned());
        return true;
    }
    let mut entries = std::fs::read_dir(path);
    if make_readable && entries.is_err() {
        entries = make_accessible(path).and_then(|()| std::fs::read_dir(path));
    }
    let mut is_complete = true;
    for entry in entries.into_iter().flatten().flatten() {
        is_complete &= list(&entry.path(), limit, make_readable, files);
    }
    is_complete
}
