//! Keeps protected paths as they are: makes them read-only before a command, and checks them after
//! it.

use std::path::Path;

use super::find::{Found, Item, find};
use super::put_back::{self, rename_blocked};
use super::snapshot::Snapshot;
use super::{Blocked, GIT_CONFIG, GIT_HOOKS, git};
use crate::rules::Rules;

/// The protected paths as they were before a command.
#[derive(Debug)]
pub(crate) struct Guard {
    before: Found,
    /// The contents, if the paths could not be made read-only.
    snapshot: Option<Snapshot>,
}

impl Guard {
    /// Finds the protected paths and makes each read-only with `make_read_only`. If that fails for
    /// one, the contents of all are kept instead.
    pub(crate) fn new(
        rules: &Rules,
        make_read_only: impl FnOnce(&[&Path]) -> std::io::Result<()>,
    ) -> Self {
        let before = find(rules);
        // A mount would follow a link. The target of a link is an item of its own.
        let paths = before.items.iter().filter(|(_, item)| item.link.is_none());
        let paths: Vec<&Path> = paths.map(|(path, _)| path.as_path()).collect();
        let is_mounted = paths.is_empty() || make_read_only(&paths).is_ok();
        let snapshot = (!is_mounted).then(|| Snapshot::take(&before.items));
        Self { before, snapshot }
    }

    /// Puts back what the command changed, and renames protected paths that it created. No process
    /// of the command may be running anymore.
    pub(crate) fn check(&self, rules: &Rules) -> Vec<Blocked> {
        let mut blocked = self.snapshot.as_ref().map(Snapshot::restore).unwrap_or_default();
        blocked.extend(self.restore_links());
        let after = find(rules);
        if !(self.before.complete && after.complete) {
            // New paths cannot be recognized if a directory was not searched.
            return blocked;
        }
        for (path, item) in &after.items {
            let is_known = self.is_unchanged(path, item)
                || self.is_moved(item.id)
                || [GIT_CONFIG, GIT_HOOKS].contains(&item.name) && git::is_harmless(path);
            // A new link is renamed, which leaves its target unprotected.
            let is_of_new_link =
                item.via.as_ref().is_some_and(|link| !self.before.items.contains_key(link));
            let is_known = is_known || is_of_new_link;
            if is_known || blocked.iter().any(|earlier| is_part(path, earlier)) {
                continue;
            }
            // Without its `HEAD`, git does not recognize a git directory.
            let path = if item.is_bare { path.join("HEAD") } else { path.clone() };
            let moved_to = rename_blocked(&path);
            blocked.push(Blocked { path, name: item.name.to_owned(), moved_to });
        }
        blocked
    }

    /// Returns whether a path is what it was before. A read-only path cannot be renamed, but a
    /// directory above it can, and then a copy can take its place.
    fn is_unchanged(&self, path: &Path, item: &Item) -> bool {
        let Some(before) = self.before.items.get(path) else { return false };
        // The contents of a snapshot were restored, into new files if necessary.
        let is_same_file = self.snapshot.is_some() || before.id == item.id;
        before.link == item.link && (before.link.is_some() || is_same_file)
    }

    /// Returns whether a path existed before under another name. It was read-only, so its content
    /// is unchanged.
    fn is_moved(&self, id: (u64, u64)) -> bool {
        // The inode of a link that was removed may be in use again; those of mounts cannot.
        let mut mounted = self.before.items.values().filter(|item| item.link.is_none());
        self.snapshot.is_none() && mounted.any(|item| item.id == id)
    }

    /// Restores protected paths that were links and are not anymore.
    fn restore_links(&self) -> Vec<Blocked> {
        let mut blocked = Vec::new();
        for (path, item) in &self.before.items {
            let Some(target) = &item.link else { continue };
            if std::fs::read_link(path).is_ok_and(|now| now == *target) {
                continue;
            }
            let moved_to = rename_blocked(path);
            // The directory above it may be gone.
            let _ = put_back::link(path, target);
            blocked.push(Blocked { path: path.clone(), name: item.name.to_owned(), moved_to });
        }
        blocked
    }
}

/// Returns whether a path is, or was, below a path that was put back.
fn is_part(path: &Path, blocked: &Blocked) -> bool {
    let moved_to = blocked.moved_to.as_ref();
    path.starts_with(&blocked.path) || moved_to.is_some_and(|moved| path.starts_with(moved))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Runs `change` between the two halves of a guard that cannot make paths read-only.
    fn blocked_by(directory: &Path, change: impl FnOnce()) -> Vec<PathBuf> {
        let root = directory.canonicalize().unwrap();
        let rules =
            Rules { write: vec![root.clone()], guarded: vec![root.clone()], ..Rules::default() };
        let refused = |_: &[&Path]| Err(std::io::ErrorKind::PermissionDenied.into());
        let guard = Guard::new(&rules, refused);
        change();
        let blocked = guard.check(&rules);
        blocked.iter().map(|one| one.path.strip_prefix(&root).unwrap().to_owned()).collect()
    }

    #[test]
    fn contents_are_restored_where_mounts_are_not_allowed() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), text).unwrap();
        };
        let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
        for name in ["HEAD", "config", "hooks/a.sample", "objects/1", "refs/x"] {
            write(&format!("sub/.git/{name}"), "old");
        }
        write(".vscode/tasks.json", "old");
        write("other", "old");
        let blocked = blocked_by(temp.path(), || {
            write("sub/.git/config", "new");
            write("sub/.git/hooks/pre-commit", "new");
            write("sub/.git/objects/2", "new");
            std::fs::remove_file(at(".vscode/tasks.json")).unwrap();
            write("other", "new");
            write(".envrc", "new");
        });
        let expected =
            [".vscode/tasks.json", "sub/.git/config", "sub/.git/hooks/pre-commit", ".envrc"];
        assert_eq!(blocked, expected.map(PathBuf::from));
        assert_eq!(read("sub/.git/config"), "old");
        assert_eq!(read("sub/.git/config.blocked"), "new");
        assert_eq!(read(".vscode/tasks.json"), "old");
        assert_eq!((read("other"), read("sub/.git/objects/2")), ("new".into(), "new".into()));
        assert!(!at("sub/.git/hooks/pre-commit").exists() && !at(".envrc").exists());
        assert_eq!(blocked_by(temp.path(), || write("other", "newer")), Vec::<PathBuf>::new());
    }
}
