//! Keeps protected paths as they are: makes them read-only before a command, and checks them after
//! it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::find::{Found, Item, LIMITS, Limits, find};
use super::put_back::{self, rename_blocked};
use super::snapshot::Snapshot;
use super::user::UserFiles;
use super::{Blocked, GIT_CONFIG, GIT_HOOKS, git};
use crate::rules::Rules;

/// Maximum number of reported directories that could not be searched.
const MAX_UNCHECKED: usize = 10;

/// The protected paths as they were before a command.
#[derive(Debug)]
pub(crate) struct Guard {
    before: Found,
    user: UserFiles,
    limits: Limits,
    /// The contents, if the paths could not be made read-only.
    snapshot: Option<Snapshot>,
    /// The contents of paths that a command may remove, which are never read-only, and of the
    /// parts of git directories, which another file can replace.
    kept: Snapshot,
}

/// The result of a check.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// Protected paths that were put back.
    pub(crate) blocked: Vec<Blocked>,
    /// Paths that could not be searched or renamed.
    pub(crate) unchecked: Vec<PathBuf>,
}

impl Guard {
    /// Finds the protected paths and makes each read-only with `make_read_only`. If that fails for
    /// one, the contents of all are kept instead.
    pub(crate) fn new(
        rules: &Rules,
        user: UserFiles,
        make_read_only: impl FnOnce(&[&Path]) -> std::io::Result<()>,
    ) -> Self {
        Self::with_limits(rules, user, LIMITS, make_read_only)
    }

    /// Finds the protected paths of directories in which several commands may run. Each of them has
    /// a guard of its own, which keeps contents and knows what the user agreed to.
    pub(crate) fn observe(rules: &Rules, user: UserFiles) -> Self {
        let all = Rules { unprotected: Vec::new(), ..rules.clone() };
        let before = find(&all, &user, true, LIMITS.before, None);
        Self { before, user, limits: LIMITS, snapshot: None, kept: Snapshot::default() }
    }

    fn with_limits(
        rules: &Rules,
        user: UserFiles,
        limits: Limits,
        make_read_only: impl FnOnce(&[&Path]) -> std::io::Result<()>,
    ) -> Self {
        let before = find(rules, &user, false, limits.before, None);
        // A mount would follow a link. The target of a link is an item of its own.
        let paths =
            before.items.iter().filter(|(_, item)| item.link.is_none() && !item.is_removable);
        let paths: Vec<&Path> = paths.map(|(path, _)| path.as_path()).collect();
        if paths.is_empty() || make_read_only(&paths).is_ok() {
            let kept = before.items.iter().filter(|(path, item)| may_be_replaced(path, item));
            let kept = Snapshot::take(kept, true);
            return Self { before, user, limits, snapshot: None, kept };
        }
        let before = find(rules, &user, true, limits.before, None);
        let snapshot = Some(Snapshot::take(&before.items, false));
        Self { before, user, limits, snapshot, kept: Snapshot::default() }
    }

    /// Puts back what the command changed, and renames protected paths that it created. No process
    /// of the command may be running anymore.
    pub(crate) fn check(&self, rules: &Rules) -> Checked {
        let mut blocked = Vec::new();
        self.snapshot.as_ref().unwrap_or(&self.kept).restore(&mut blocked);
        blocked.extend(self.restore_links(rules));
        let with_parts = self.snapshot.is_some();
        let after = find(rules, &self.user, with_parts, self.limits.after, Some(&self.before));
        let mut unchecked = self.unchecked(&after, rules);
        let restored = blocked.len();
        for (path, name) in self.new_paths(&after) {
            if blocked.iter().any(|earlier| is_part(&path, earlier)) {
                continue;
            }
            match rename_blocked(&path) {
                None => unchecked.push(path),
                moved_to => blocked.push(Blocked { path, name: name.to_owned(), moved_to }),
            }
        }
        if blocked.len() > restored
            && let Some(snapshot) = &self.snapshot
        {
            // A link that was renamed now may have been in the way.
            snapshot.restore(&mut blocked);
            let mut paths = BTreeSet::new();
            blocked.retain(|one| paths.insert(one.path.clone()));
        }
        Checked { blocked, unchecked }
    }

    /// Returns the protected paths that the command created, and what has the same effect.
    fn new_paths(&self, after: &Found) -> Vec<(PathBuf, &'static str)> {
        let items = after.items.iter().filter(|(path, item)| !self.is_known(path, item));
        // Without its `HEAD`, git does not recognize a git directory.
        let items = items.map(|(path, item)| match item.is_bare {
            true => (path.join("HEAD"), item.name),
            false => (path.clone(), item.name),
        });
        let links = after.links.iter().filter_map(|(link, name)| {
            let was_there = self.before.links.get(link).is_some_and(Option::is_some);
            name.filter(|_| !was_there).map(|name| (link.clone(), name))
        });
        let rebases = after.rebases.iter().filter_map(|(todo, commands)| {
            let before = self.before.rebases.get(todo);
            let are_known = commands.iter().all(|one| before.is_some_and(|old| old.contains(one)));
            (!are_known).then(|| (todo.clone(), GIT_HOOKS))
        });
        items.chain(links).chain(rebases).collect()
    }

    /// Returns the directories in which the command may have created a protected path unnoticed, or
    /// changed one that was not found before it.
    fn unchecked(&self, after: &Found, rules: &Rules) -> Vec<PathBuf> {
        let root_of = |path: &PathBuf| rules.guarded.iter().find(|root| path.starts_with(root));
        let unsearched = self.before.unsearched.iter().chain(&after.unsearched);
        let roots: BTreeSet<&PathBuf> = unsearched.filter_map(root_of).collect();
        let unreadable = after.unreadable.difference(&self.before.unreadable);
        roots.into_iter().chain(unreadable).take(MAX_UNCHECKED).cloned().collect()
    }

    /// Returns whether a path may stay where it is.
    fn is_known(&self, path: &Path, item: &Item) -> bool {
        // A new link is renamed, which leaves its target unprotected.
        let is_of_new_link =
            item.via.as_ref().is_some_and(|link| !self.before.items.contains_key(link));
        self.is_unchanged(path, item)
            || self.is_moved(item.id)
            || self.is_new_repository(path, item)
            || is_of_new_link
    }

    /// Returns whether a path is a part of a new git directory as git creates it. That of an
    /// existing one may have had settings and hooks that matter to the user.
    fn is_new_repository(&self, path: &Path, item: &Item) -> bool {
        [GIT_CONFIG, GIT_HOOKS].contains(&item.name)
            && !self.before.items.contains_key(path)
            && git::is_harmless(path)
    }

    /// Returns whether a path is what it was before. A read-only path cannot be renamed, but a
    /// directory above it can, and then a copy can take its place.
    fn is_unchanged(&self, path: &Path, item: &Item) -> bool {
        let Some(before) = self.before.items.get(path) else { return false };
        // The contents of a snapshot were restored, into new files if necessary.
        let is_restored = self.snapshot.is_some() || item.is_removable || self.kept.has(path);
        let is_same_file = is_restored || before.id == item.id;
        before.link == item.link && (before.link.is_some() || is_same_file)
    }

    /// Returns whether a path existed before under another name. It was read-only, so its content
    /// is unchanged.
    fn is_moved(&self, id: (u64, u64)) -> bool {
        // The inode of a link that was removed may be in use again; those of mounts cannot.
        let mut mounted =
            self.before.items.values().filter(|item| item.link.is_none() && !item.is_removable);
        self.snapshot.is_none() && mounted.any(|item| item.id == id)
    }

    /// Restores protected paths that were links and are not anymore.
    fn restore_links(&self, rules: &Rules) -> Vec<Blocked> {
        let mut blocked = Vec::new();
        for (path, item) in &self.before.items {
            let Some(target) = &item.link else { continue };
            let is_removed = || std::fs::symlink_metadata(path).is_err();
            if rules.unprotected.iter().any(|name| name == item.name) {
                continue;
            }
            if std::fs::read_link(path).is_ok_and(|now| now == *target)
                || item.is_removable && is_removed()
            {
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

/// Returns whether the contents of a path are kept although it may be read-only: the directory
/// above it can be moved away, and the git directory of the user would be left without it.
fn may_be_replaced(path: &Path, item: &Item) -> bool {
    item.is_removable
        || [GIT_CONFIG, GIT_HOOKS].contains(&item.name)
            && path.parent().is_some_and(git::is_git_directory)
}

/// Returns whether a path is, or was, below a path that was put back.
fn is_part(path: &Path, blocked: &Blocked) -> bool {
    let moved_to = blocked.moved_to.as_ref();
    path.starts_with(&blocked.path) || moved_to.is_some_and(|moved| path.starts_with(moved))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Runs `change` between the two halves of a guard that cannot make paths read-only.
    fn checked(directory: &Path, limits: Limits, change: impl FnOnce()) -> Checked {
        let root = directory.canonicalize().unwrap();
        let rules =
            Rules { write: vec![root.clone()], guarded: vec![root.clone()], ..Rules::default() };
        let refused = |_: &[&Path]| Err(std::io::ErrorKind::PermissionDenied.into());
        let guard = Guard::with_limits(&rules, UserFiles::default(), limits, refused);
        change();
        guard.check(&rules)
    }

    /// Returns the paths that were put back.
    fn blocked_by(directory: &Path, change: impl FnOnce()) -> Vec<PathBuf> {
        let root = directory.canonicalize().unwrap();
        let Checked { blocked, unchecked } = checked(directory, LIMITS, change);
        assert_eq!(unchecked, Vec::<PathBuf>::new());
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

    #[test]
    fn links_and_large_files_are_restored_or_renamed() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        for directory in [".git/hooks", ".vscode", ".cargo"] {
            std::fs::create_dir_all(at(directory)).unwrap();
        }
        for name in [".git/config", ".vscode/a.json", ".cargo/config.toml"] {
            std::fs::write(at(name), "own").unwrap();
        }
        std::fs::write(at(".vscode/large"), vec![b'x'; 1_100_000]).unwrap();
        symlink("own", at(".git/hooks/linked")).unwrap();
        assert_eq!(blocked_by(temp.path(), || {}), Vec::<PathBuf>::new());
        let blocked = blocked_by(temp.path(), || {
            symlink("../../evil", at(".git/hooks/pre-commit")).unwrap();
            std::fs::write(at(".git/hooks/post-commit"), vec![b'y'; 1_100_000]).unwrap();
            std::fs::remove_file(at(".git/hooks/linked")).unwrap();
            symlink("evil", at(".git/hooks/linked")).unwrap();
            std::fs::write(at(".vscode/large"), vec![b'y'; 1_100_000]).unwrap();
            std::fs::remove_file(at(".vscode/a.json")).unwrap();
            std::fs::rename(at(".cargo"), at("old")).unwrap();
            std::fs::create_dir(at("evil")).unwrap();
            std::fs::write(at("evil/config.toml"), "evil").unwrap();
            symlink("evil", at(".cargo")).unwrap();
        });
        let hooks =
            ["linked", "post-commit", "pre-commit"].map(|name| format!(".git/hooks/{name}"));
        for path in hooks.iter().map(String::as_str).chain([".vscode/a.json", ".vscode/large"]) {
            assert!(blocked.contains(&PathBuf::from(path)), "{path}: {blocked:?}");
        }
        assert!(
            !at(".git/hooks/pre-commit").is_symlink() && !at(".git/hooks/post-commit").exists()
        );
        assert_eq!(std::fs::read_link(at(".git/hooks/linked")).unwrap(), Path::new("own"));
        for name in [".vscode/a.json", ".cargo/config.toml"] {
            assert_eq!(std::fs::read_to_string(at(name)).unwrap(), "own", "{name}");
        }
        assert!(!at(".cargo").is_symlink() && !at(".vscode/large").exists());
        assert_eq!(blocked_by(temp.path(), || {}), Vec::<PathBuf>::new());
    }

    #[test]
    fn dependencies_can_be_removed_where_mounts_are_not_allowed() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        for name in ["HEAD", "config", "hooks/a.sample", "objects/1", "refs/x"] {
            let path = at("node_modules/lib/.git").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "old").unwrap();
        }
        std::fs::create_dir_all(at("node_modules/lib/sub")).unwrap();
        symlink("../.git", at("node_modules/lib/sub/.git")).unwrap();
        let blocked = blocked_by(temp.path(), || {
            std::fs::write(at("node_modules/lib/.git/hooks/pre-commit"), "new").unwrap();
            std::fs::write(at("node_modules/lib/.envrc"), "new").unwrap();
        });
        assert_eq!(blocked, [PathBuf::from("node_modules/lib/.git/hooks/pre-commit")]);
        let remove = || std::fs::remove_dir_all(at("node_modules")).unwrap();
        assert_eq!(blocked_by(temp.path(), remove), Vec::<PathBuf>::new());
        assert!(!at("node_modules").exists());
    }

    #[test]
    fn many_new_files_hide_no_protected_path() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        std::fs::create_dir_all(at("a/b/c")).unwrap();
        std::fs::write(at("a/b/c/.envrc"), "own").unwrap();
        let fill = |directory: &str, count: usize| {
            (0..count).for_each(|n| std::fs::write(at(&format!("{directory}/{n}")), "").unwrap());
        };
        let limits = Limits { before: 20, after: 200 };
        let result = checked(temp.path(), limits, || {
            fill("a", 50);
            std::fs::write(at("a/b/.envrc"), "new").unwrap();
        });
        assert_eq!((result.blocked.len(), result.unchecked.len()), (1, 0), "{result:?}");
        assert!(at("a/b/.envrc.blocked").exists() && at("a/b/c/.envrc").exists());
        let result = checked(temp.path(), Limits { before: 100, after: 200 }, || fill("a", 300));
        assert_eq!(result.unchecked, [temp.path().canonicalize().unwrap()]);
        // Where the search before the command did not reach, nothing counts as new, and a notice
        // says so.
        let result = checked(temp.path(), limits, || {
            std::fs::write(at("a/b/.envrc"), "new").unwrap();
            std::fs::write(at(".envrc"), "new").unwrap();
        });
        assert_eq!((result.blocked.len(), result.unchecked.len()), (1, 1), "{result:?}");
        assert!(at(".envrc.blocked").exists() && at("a/b/.envrc").exists());
    }

    /// A notice says that the search did not reach everything.
    #[test]
    fn many_files_do_not_switch_the_protection_off() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        (0..50).for_each(|n| std::fs::write(at(&n.to_string()), "").unwrap());
        for name in ["HEAD", "config", "hooks/a.sample", "objects/1", "refs/x"] {
            std::fs::create_dir_all(at(".git").join(name).parent().unwrap()).unwrap();
            std::fs::write(at(".git").join(name), "old").unwrap();
        }
        std::fs::write(at(".bashrc"), "old").unwrap();
        let result = checked(temp.path(), Limits { before: 1, after: 1 }, || {
            for name in [".git/config", ".bashrc", ".envrc"] {
                std::fs::write(at(name), "new").unwrap();
            }
        });
        assert_eq!((result.blocked.len(), result.unchecked.len()), (3, 1), "{result:?}");
        for name in [".git/config", ".bashrc"] {
            assert_eq!(std::fs::read_to_string(at(name)).unwrap(), "old", "{name}");
        }
        assert!(!at(".envrc").exists());
    }

    /// The kernel does not refuse root, so the test runs as another user.
    #[test]
    fn unreadable_directory_hides_no_protected_path() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().to_owned();
        if rustix::process::getuid().is_root() {
            std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).unwrap();
        }
        let test = move || {
            if rustix::process::getuid().is_root() {
                let user = rustix::process::Uid::from_raw(65_534);
                // Only this thread becomes another user.
                rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            }
            let mode = |name: &str, mode: u32| {
                let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
                std::fs::set_permissions(path.join(name), permissions).unwrap();
            };
            std::fs::create_dir_all(path.join("own")).unwrap();
            std::fs::create_dir_all(path.join("open")).unwrap();
            mode("own", 0);
            for hidden in [0, 0o400, 0o500] {
                let blocked = blocked_by(&path, || {
                    std::fs::write(path.join("open/.envrc"), "new").unwrap();
                    mode("open", hidden);
                });
                assert_eq!(blocked, [PathBuf::from("open/.envrc")], "{hidden:o}");
                assert!(path.join("open/.envrc.blocked").exists());
                mode("open", 0o700);
            }
            mode("own", 0o700);
        };
        std::thread::spawn(test).join().unwrap();
    }
}
