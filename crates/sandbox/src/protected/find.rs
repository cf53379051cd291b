//! Finds the protected paths below directories.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs::ReadDir;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::user::UserFiles;
use super::{GIT, GIT_CONFIG, GIT_HOOKS, NAMES, entry_name, git};
use crate::rules::Rules;

/// Maximum numbers of directory entries to search. Directories near the top come first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) before: usize,
    /// After a command. It is larger, so that a command cannot hide a path by creating many files.
    pub(super) after: usize,
}

pub(super) const LIMITS: Limits = Limits { before: 300_000, after: 3_000_000 };

/// Directories of code that is installed or built, and that commands must be able to remove. Only
/// the git directories in them are protected: another protected name takes effect in a directory
/// that the user opens as a project, and the code itself can be changed in any case.
const DEPENDENCIES: [&str; 9] = [
    "node_modules",
    "bower_components",
    "vendor",
    "target",
    ".venv",
    "venv",
    "__pypackages__",
    ".tox",
    ".nox",
];

/// Returns whether a path is below a directory of [`DEPENDENCIES`] in a guarded directory.
fn is_in_dependencies(rules: &Rules, path: &Path) -> bool {
    let is_named = |name: &OsStr| DEPENDENCIES.iter().any(|own| name.eq_ignore_ascii_case(own));
    rules.guarded.iter().any(|root| {
        let below = path.strip_prefix(root).ok().and_then(Path::parent);
        // The git directory of a submodule has the path of the submodule in it.
        let mut parents = below.into_iter().flatten().take_while(|name| *name != GIT);
        parents.any(is_named)
    })
}

/// The longest search after a command.
const MAX_TIME_AFTER: Duration = Duration::from_secs(40);

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
    /// Whether it is in a directory of [`DEPENDENCIES`]: a command may remove it, not change it.
    pub(super) is_removable: bool,
}

/// The protected paths below the guarded directories, by their absolute paths.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) items: BTreeMap<PathBuf, Item>,
    /// Directories that were not searched to their end, because the limit was reached.
    pub(super) unsearched: BTreeSet<PathBuf>,
    /// Directories that cannot be read.
    pub(super) unreadable: BTreeSet<PathBuf>,
    /// Links to directories in which protected paths are not protected, with the name of one that
    /// is there.
    pub(super) links: BTreeMap<PathBuf, Option<&'static str>>,
    /// The lists of interrupted rebases, with the commands in them.
    pub(super) rebases: BTreeMap<PathBuf, BTreeSet<String>>,
}

/// Finds all protected paths that the rules do not unprotect. `with_parts` adds the parts of
/// protected git directories that decide which programs git runs. With `before`, directories that
/// were not searched then are not searched now: new paths cannot be recognized there.
pub(super) fn find(
    rules: &Rules,
    user: &UserFiles,
    with_parts: bool,
    limit: usize,
    before: Option<&Found>,
) -> Found {
    let mut search = Search::new(rules, user, with_parts, limit, before);
    search.user_paths();
    rules.guarded.iter().for_each(|root| search.names_in(root));
    search.queue.extend(rules.guarded.iter().cloned());
    while let Some(directory) = search.queue.pop_front() {
        search.directory(&directory);
    }
    for link in std::mem::take(&mut search.links) {
        search.link_out(link);
    }
    search.found
}

/// Finds the protected paths in the directories above a path, and what they lead to, also if it
/// does not exist yet.
pub(super) fn find_above(rules: &Rules, user: &UserFiles, path: &Path) -> Found {
    let mut search = Search::new(rules, user, true, LIMITS.before, None);
    search.may_be_missing = true;
    search.user_paths();
    let is_guarded = |path: &&Path| rules.guarded.iter().any(|root| path.starts_with(root));
    path.ancestors().filter(is_guarded).for_each(|directory| search.directory(directory));
    search.found
}

struct Search<'a> {
    rules: &'a Rules,
    user: &'a UserFiles,
    with_parts: bool,
    /// Whether to add protected paths that do not exist yet.
    may_be_missing: bool,
    before: Option<&'a Found>,
    found: Found,
    queue: VecDeque<PathBuf>,
    links: Vec<PathBuf>,
    left: usize,
    deadline: Option<Instant>,
}

impl<'a> Search<'a> {
    fn new(
        rules: &'a Rules,
        user: &'a UserFiles,
        with_parts: bool,
        limit: usize,
        before: Option<&'a Found>,
    ) -> Self {
        Self {
            rules,
            user,
            with_parts,
            may_be_missing: false,
            before,
            found: Found::default(),
            queue: VecDeque::new(),
            links: Vec::new(),
            left: limit,
            deadline: before.and_then(|_| Instant::now().checked_add(MAX_TIME_AFTER)),
        }
    }

    /// Adds what the user's own configuration leads to in the guarded directories.
    fn user_paths(&mut self) {
        for (path, name) in self.user.real_paths() {
            self.add(&path, name);
        }
        for root in &self.rules.guarded {
            for (path, name) in git::other_paths(&root.join(GIT), Some(root), &self.user.git) {
                self.add(&path, name);
            }
        }
    }

    /// Looks up the protected names in a directory. In one with very many entries, the search may
    /// not come to them.
    fn names_in(&mut self, directory: &Path) {
        for name in NAMES {
            let path = directory.join(name);
            match name.split_once('/') {
                _ if name == GIT => self.git_entry(&path),
                None => self.add(&path, name),
                Some((GIT, _)) => {}
                Some((parent, _)) => {
                    let parent = directory.join(parent).symlink_metadata();
                    if parent.is_ok_and(|parent| parent.is_dir()) {
                        self.add(&path, name);
                    }
                }
            }
        }
    }

    /// Searches the entries of a directory, and queues the directories in it.
    fn directory(&mut self, directory: &Path) {
        if self.before.is_some_and(|before| before.unsearched.contains(directory)) {
            return;
        }
        if self.left == 0 || self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            self.found.unsearched.insert(directory.to_owned());
            return;
        }
        let Some(entries) = self.entries(directory) else { return };
        let parent = directory.file_name().and_then(|name| name.to_str());
        let only_git = is_in_dependencies(self.rules, &directory.join(GIT));
        for entry in entries.flatten() {
            let Some(left) = self.left.checked_sub(1) else {
                self.found.unsearched.insert(directory.to_owned());
                break;
            };
            self.left = left;
            let file_name = entry.file_name();
            let name = file_name.to_str().unwrap_or_default();
            let path = entry.path();
            let kind = entry.file_type().ok();
            match entry_name(parent, name) {
                Some(GIT) => self.git_entry(&path),
                Some(_) if only_git => {}
                Some(protected) => self.add(&path, protected),
                None if kind.is_some_and(|kind| kind.is_dir())
                    && !self.rules.unguarded.contains(&path) =>
                {
                    self.queue.push_back(path);
                }
                None if kind.is_some_and(|kind| kind.is_symlink()) && !only_git => {
                    self.linked_directory(&path, name);
                    self.links.push(path);
                }
                None => {}
            }
        }
        // A command can make any directory look like a git directory, so what is in it counts too.
        if git::is_git_directory(directory) {
            // A granted directory must stay writable, so only the parts of it are protected.
            if self.rules.guarded.iter().any(|root| root == directory) {
                self.git_parts(directory)
            } else {
                self.git_directory(directory, true, None)
            }
        }
    }

    /// Records a link to a directory in which protected paths are not protected. What is there
    /// would take effect here.
    fn link_out(&mut self, link: PathBuf) {
        // Programs of package managers create many of them, and may remove them.
        if is_in_dependencies(self.rules, &link.join(GIT)) {
            return;
        }
        if let Some(target) = self.open_directory(&link) {
            let name = self.protected_below(target);
            self.found.links.insert(link, name);
        }
    }

    /// Returns the directory that a link leads to, if a command can change it and protected names
    /// are not protected there.
    fn open_directory(&self, link: &Path) -> Option<PathBuf> {
        let target = link.canonicalize().ok().filter(|target| target.is_dir())?;
        let is_below = |roots: &[PathBuf]| roots.iter().any(|root| target.starts_with(root));
        let is_open = !is_below(&self.rules.guarded)
            || is_below(&self.rules.unguarded)
            || is_in_dependencies(self.rules, &target.join(GIT));
        (is_below(&self.rules.write) && is_open).then_some(target)
    }

    /// Returns a protected name that is in a directory or below it.
    fn protected_below(&mut self, top: PathBuf) -> Option<&'static str> {
        let mut queue = VecDeque::from([top]);
        let mut seen = BTreeSet::new();
        while let Some(directory) = queue.pop_front() {
            if !seen.insert(directory.clone()) {
                continue;
            }
            if git::is_git_directory(&directory) && !self.is_unprotected(GIT) {
                return Some(GIT);
            }
            let parent = directory.file_name().and_then(|name| name.to_str());
            for entry in self.entries(&directory).into_iter().flatten().flatten() {
                // It may be in what is not searched.
                let Some(left) = self.left.checked_sub(1) else { return Some(GIT) };
                self.left = left;
                let name = entry_name(parent, entry.file_name().to_str().unwrap_or_default());
                if let Some(name) = name.filter(|name| !self.is_unprotected(name)) {
                    return Some(name);
                }
                let kind = entry.file_type().ok();
                if kind.is_some_and(|kind| kind.is_dir()) {
                    queue.push_back(entry.path());
                } else if kind.is_some_and(|kind| kind.is_symlink()) {
                    queue.extend(self.open_directory(&entry.path()));
                }
            }
        }
        None
    }

    /// Reads a directory. A command may have made one unreadable to hide what is in it, so it is
    /// made readable again after the command.
    fn entries(&mut self, directory: &Path) -> Option<ReadDir> {
        let error = match open(directory) {
            Ok(entries) => return Some(entries),
            Err(error) => error,
        };
        if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
            return None;
        }
        if self.before.is_some_and(|before| !before.unreadable.contains(directory))
            && make_accessible(directory).is_ok()
            && let Ok(entries) = open(directory)
        {
            return Some(entries);
        }
        self.found.unreadable.insert(directory.to_owned());
        None
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
        let metadata = std::fs::symlink_metadata(path).ok();
        if metadata.is_none() && !self.may_be_missing {
            return;
        }
        let is_link = metadata.as_ref().is_some_and(std::fs::Metadata::is_symlink);
        let link = is_link.then(|| std::fs::read_link(path).unwrap_or_default());
        let id = metadata.map(|metadata| (metadata.dev(), metadata.ino())).unwrap_or_default();
        let is_removable = is_in_dependencies(self.rules, path);
        let item = Item { name, id, link, via: None, is_bare, is_removable };
        self.found.items.insert(path.to_owned(), item);
        // The target's own name may not be a protected one.
        if is_link && let Ok(target) = path.canonicalize() {
            self.add_target(&target, name, is_bare, path);
        }
    }

    /// Adds the target of a protected link.
    fn add_target(&mut self, target: &Path, name: &'static str, is_bare: bool, link: &Path) {
        if self.found.items.contains_key(target) {
            return;
        }
        self.add_item(target, name, is_bare);
        if let Some(item) = self.found.items.get_mut(target) {
            item.via = Some(link.to_owned());
            item.is_removable &= is_in_dependencies(self.rules, link);
        }
    }

    /// Adds a link such as `.cargo` or `.config` if it leads to a directory in which a path is
    /// protected: `.cargo/config.toml`.
    fn linked_directory(&mut self, link: &Path, name: &str) {
        let parts = NAMES.into_iter().filter_map(|protected| {
            let (directory, file) = protected.split_once('/')?;
            name.eq_ignore_ascii_case(directory).then_some((protected, file))
        });
        for (protected, file) in parts {
            let Ok(target) = link.join(file).canonicalize() else { continue };
            let is_writable = self.rules.write.iter().any(|root| link.starts_with(root));
            let Ok(metadata) = std::fs::symlink_metadata(link) else { continue };
            if is_writable && !self.is_unprotected(protected) {
                let item = Item {
                    name: protected,
                    id: (metadata.dev(), metadata.ino()),
                    link: Some(std::fs::read_link(link).unwrap_or_default()),
                    via: None,
                    is_bare: false,
                    is_removable: false,
                };
                self.found.items.insert(link.to_owned(), item);
                self.add_target(&target, protected, false, link);
            }
        }
    }

    /// Adds an entry named `.git`: a directory, a file that names one, or a link.
    fn git_entry(&mut self, path: &Path) {
        self.add(path, GIT);
        if let Some(directory) = git::directory_of(path) {
            self.git_directory(&directory, directory != path, path.parent());
        }
    }

    /// Adds a git directory, or the parts of it that stay protected if it is unprotected.
    fn git_directory(&mut self, directory: &Path, is_bare: bool, work_tree: Option<&Path>) {
        let is_unprotected = self.is_unprotected(GIT);
        // A link to it may be renamed. Then only this entry protects it.
        let is_found = self.found.items.get(directory).is_some_and(|item| item.via.is_none());
        if !is_unprotected && !is_found {
            self.add_item(directory, GIT, is_bare);
        }
        if is_unprotected || self.with_parts || is_in_dependencies(self.rules, directory) {
            self.git_parts(directory);
        }
        for (path, name) in git::other_paths(directory, work_tree, &self.user.git) {
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
            self.rebase(&worktree.path());
        }
        self.rebase(directory);
        // The git directories of submodules are found by their contents.
        self.queue.push_back(directory.join("modules"));
    }

    /// Records the commands that an interrupted rebase runs when the user continues it. Git itself
    /// rewrites the list, so it stays writable.
    fn rebase(&mut self, git_directory: &Path) {
        let todo = git_directory.join("rebase-merge/git-rebase-todo");
        if !self.is_unprotected(GIT_HOOKS) {
            let commands = git::rebase_commands(&todo);
            self.found.rebases.insert(todo, commands);
        }
    }
}

/// Opens a directory whose entries can be accessed.
fn open(directory: &Path) -> std::io::Result<ReadDir> {
    let entries = std::fs::read_dir(directory)?;
    // A directory that can only be listed hides what its entries are.
    std::fs::symlink_metadata(directory.join("."))?;
    Ok(entries)
}

/// Gives the owner all permissions for a directory. It must not be a link.
pub(super) fn make_accessible(directory: &Path) -> std::io::Result<()> {
    let mode = std::fs::symlink_metadata(directory)?.permissions().mode();
    std::fs::set_permissions(directory, PermissionsExt::from_mode(mode & 0o7777 | 0o700))
}
