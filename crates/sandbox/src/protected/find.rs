//! Finds the protected paths below directories.

use std::collections::{BTreeMap, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{GIT, GIT_CONFIG, GIT_HOOKS, entry_name, git};
use crate::rules::Rules;

/// Maximum number of directory entries to search. Directories near the top come first.
const MAX_ENTRIES: usize = 300_000;

/// A protected path that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The name under which it is protected.
    pub(super) name: &'static str,
    /// The device and inode, which stay the same when it is moved.
    pub(super) id: (u64, u64),
    /// The target, if it is a link.
    pub(super) link: Option<PathBuf>,
    /// The protected link that leads to it.
    pub(super) via: Option<PathBuf>,
    /// Whether it is a git directory with another name than `.git`.
    pub(super) is_bare: bool,
}

/// The protected paths below the guarded directories, by their absolute paths.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) items: BTreeMap<PathBuf, Item>,
    /// Whether every directory was searched.
    pub(super) complete: bool,
}

/// Finds all protected paths that the rules do not unprotect.
pub(super) fn find(rules: &Rules) -> Found {
    let mut search = Search {
        rules,
        found: Found { items: BTreeMap::new(), complete: true },
        queue: rules.guarded.iter().cloned().collect(),
        left: MAX_ENTRIES,
    };
    while let Some(directory) = search.queue.pop_front() {
        search.directory(&directory);
    }
    search.found
}

struct Search<'a> {
    rules: &'a Rules,
    found: Found,
    queue: VecDeque<PathBuf>,
    left: usize,
}

impl Search<'_> {
    /// Searches the entries of a directory, and queues the directories in it.
    fn directory(&mut self, directory: &Path) {
        let Ok(entries) = std::fs::read_dir(directory) else { return };
        let parent = directory.file_name().and_then(|name| name.to_str());
        let mut inner = Vec::new();
        let mut names = git::Names::default();
        for entry in entries.flatten() {
            let Some(left) = self.left.checked_sub(1) else {
                self.found.complete = false;
                break;
            };
            self.left = left;
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            names.add(name);
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            match entry_name(parent, name) {
                Some(GIT) => self.git_entry(&entry.path()),
                Some(protected) => self.add(&entry.path(), protected),
                None if is_directory => inner.push(entry.path()),
                None => {}
            }
        }
        let is_root = self.rules.guarded.iter().any(|root| root == directory);
        if names.are_of_git_directory() {
            // A granted directory must stay writable, so only the parts of it are protected.
            if is_root {
                self.git_parts(directory)
            } else {
                self.git_directory(directory, true)
            }
            return;
        }
        let is_unguarded = |path: &PathBuf| self.rules.unguarded.contains(path);
        self.queue.extend(inner.into_iter().filter(|path| !is_unguarded(path)));
    }

    fn is_unprotected(&self, name: &str) -> bool {
        let is_named = |name: &str| self.rules.unprotected.iter().any(|own| own == name);
        // The configuration and the hooks cannot be written in a read-only directory.
        is_named(name) || name == GIT && (is_named(GIT_CONFIG) || is_named(GIT_HOOKS))
    }

    /// Adds a path if it exists and is in a directory that commands may change.
    fn add(&mut self, path: &Path, name: &'static str) {
        self.add_item(path, name, false);
    }

    fn add_item(&mut self, path: &Path, name: &'static str, is_bare: bool) {
        let is_writable = self.rules.write.iter().any(|root| path.starts_with(root));
        if !is_writable || self.is_unprotected(name) {
            return;
        }
        let Ok(metadata) = std::fs::symlink_metadata(path) else { return };
        let link = metadata.is_symlink().then(|| std::fs::read_link(path).unwrap_or_default());
        let is_link = link.is_some();
        let id = (metadata.dev(), metadata.ino());
        let item = Item { name, id, link, via: None, is_bare };
        self.found.items.insert(path.to_owned(), item);
        // The target's own name may not be a protected one.
        if is_link
            && let Ok(target) = path.canonicalize()
            && !self.found.items.contains_key(&target)
        {
            self.add_item(&target, name, is_bare);
            if let Some(item) = self.found.items.get_mut(&target) {
                item.via = Some(path.to_owned());
            }
        }
    }

    /// Adds an entry named `.git`: a directory, a file that names one, or a link.
    fn git_entry(&mut self, path: &Path) {
        self.add(path, GIT);
        if let Some(directory) = git::directory_of(path) {
            self.git_directory(&directory, directory != path);
        }
    }

    /// Adds a git directory, or the parts of it that stay protected if it is unprotected.
    fn git_directory(&mut self, directory: &Path, is_bare: bool) {
        // A link to it may be renamed. Then only this entry protects it.
        let is_found = self.found.items.get(directory).is_some_and(|item| item.via.is_none());
        if self.is_unprotected(GIT) {
            self.git_parts(directory);
        } else if !is_found {
            self.add_item(directory, GIT, is_bare);
        }
        for (path, name) in git::other_paths(directory) {
            self.add(&path, name);
        }
    }

    /// Adds the parts of a git directory that decide which programs git runs.
    fn git_parts(&mut self, directory: &Path) {
        for (part, name) in git::PARTS {
            self.add(&directory.join(part), name);
        }
        let worktrees = std::fs::read_dir(directory.join("worktrees"));
        for worktree in worktrees.into_iter().flatten().flatten() {
            self.add(&worktree.path().join("commondir"), GIT_CONFIG);
            self.add(&worktree.path().join("config.worktree"), GIT_CONFIG);
        }
        // The git directories of submodules are found by their contents.
        self.queue.push_back(directory.join("modules"));
    }
}
