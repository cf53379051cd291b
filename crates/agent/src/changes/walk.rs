//! Walks through the writable directories and lists their files. Files that programs generate, and
//! most files that `.gitignore` names, are left out.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, DirEntry, Metadata, MetadataExt};
use ignore::gitignore::Gitignore;
use waterline_sandbox::workspace::{FILE, Workspace};

use super::outline::{Counts, Outline, counts_in};
use super::{BLOCKED_DIRECTORY, Content};
use crate::ignored::{is_ignored, rules};

/// Maximum number of files that are compared in one directory.
pub(super) const MAX_FILES: usize = 20_000;

/// Limits of the ignored files that are compared in one directory: an `.env` cannot be created
/// again, but most ignored files can.
const MAX_IGNORED_FILES: usize = 1_000;
const MAX_IGNORED_BYTES: u64 = 64_000;

/// Maximum number of symbolic links that are compared.
pub(super) const MAX_LINKS: usize = 1_000;

/// Directories deeper than this are not entered.
const MAX_DEPTH: usize = 64;

/// Directories that programs generate.
const SKIPPED: [&str; 10] = [
    ".git",
    ".hg",
    ".jj",
    ".svn",
    "node_modules",
    "target",
    "__pycache__",
    ".venv",
    ".cache",
    ".mypy_cache",
];

/// Paths in the workspace, which is the home directory of commands, that are skipped: caches,
/// settings and installed files of package managers and compilers, and the versions of protected
/// paths that commands made.
const SKIPPED_AT_HOME: [&str; 35] = [
    BLOCKED_DIRECTORY,
    // The temporary files of commands.
    "temp",
    ".android",
    ".bun",
    ".bundle",
    ".cabal",
    ".cargo",
    ".ccache",
    ".conan",
    ".conan2",
    ".config",
    ".cpan",
    ".deno",
    ".dotnet",
    ".elan",
    ".gem",
    ".ghcup",
    ".gradle",
    ".ipython",
    ".ivy2",
    ".java",
    ".julia",
    ".local",
    ".m2",
    ".npm",
    ".nuget",
    ".nvm",
    ".opam",
    ".pnpm-store",
    ".pub-cache",
    ".rustup",
    ".sbt",
    ".stack",
    ".yarn",
    "go/pkg",
];

/// What identifies the version of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) size: u64,
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
    pub(super) inode: u64,
    pub(super) mode: u32,
}

impl Stat {
    fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            mode: metadata.mode() & 0o777,
        }
    }

    pub(super) fn large(&self) -> Content {
        let (seconds, nanos) = self.modified;
        Content::of_large(self.size, i128::from(seconds) * 1_000_000_000 + i128::from(nanos))
    }
}

/// A version of a file in a snapshot.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) stat: Stat,
    pub(super) is_ignored: bool,
    /// Where its content is kept; `None` if it is too large.
    pub(super) kept: Option<Kept>,
}

/// Where the content of a file is in the temporary file.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) hash: Arc<str>,
    pub(super) at: u64,
}

/// The ignore rules of directories. The later walk uses those of the earlier one, so that a changed
/// `.gitignore` does not look like a created or deleted file.
pub(super) type Rules = HashMap<PathBuf, Option<Arc<Gitignore>>>;

/// The files of the writable directories at one time, by absolute path. Paths are texts, because
/// comparing them component by component takes longer than reading the directories.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) files: BTreeMap<Arc<str>, Version>,
    pub(super) rules: Rules,
    /// Symbolic links.
    pub(super) links: BTreeMap<PathBuf, Stat>,
    /// Directories that could not be read.
    pub(super) unread: Vec<PathBuf>,
    /// Writable directories with too many files.
    pub(super) too_large: Vec<PathBuf>,
    /// What is not recorded.
    pub(super) outline: Outline,
}

/// Walks through the writable directories. `outlines` says whether to watch what is not recorded.
pub(super) fn walk(workspace: &Workspace, rules: &Rules, outlines: bool) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (root, dir) in workspace.writable_roots() {
        let left = MAX_FILES;
        let left_ignored = MAX_IGNORED_FILES;
        let is_home = root == workspace.path();
        let snapshot = &mut snapshot;
        Walk { snapshot, rules, root, is_home, outlines, left, left_ignored }.start(dir);
    }
    snapshot
}

/// A walk through one writable directory.
struct Walk<'a> {
    snapshot: &'a mut Snapshot,
    rules: &'a Rules,
    root: &'a Path,
    /// Whether the directory is the home directory of commands.
    is_home: bool,
    outlines: bool,
    left: usize,
    left_ignored: usize,
}

impl Walk<'_> {
    fn start(&mut self, dir: &Dir) {
        if !self.directory(dir, Path::new(""), &mut Vec::new()) {
            // Two walks would stop at different files, and the comparison would report wrong
            // changes.
            let root = prefix(self.root);
            self.snapshot.files.retain(|path, _| !path.starts_with(&root));
            self.snapshot.too_large.push(self.root.to_owned());
        }
    }

    /// Walks a directory. Returns whether the limit allows it.
    fn directory(&mut self, dir: &Dir, at: &Path, ignored: &mut Vec<Arc<Gitignore>>) -> bool {
        let whole = self.root.join(at);
        let Ok(entries) = dir.entries() else {
            self.snapshot.unread.push(whole);
            return true;
        };
        let rules = self.rules.get(&whole).cloned().unwrap_or_else(|| rules(dir, &whole));
        self.snapshot.rules.insert(whole, rules.clone());
        let count = ignored.len();
        ignored.extend(rules);
        let fits = entries.flatten().all(|entry| self.entry(&entry, at, ignored));
        ignored.truncate(count);
        fits
    }

    /// Adds a file, or walks a directory. Returns whether the limit allows it.
    fn entry(&mut self, entry: &DirEntry, at: &Path, ignored: &mut Vec<Arc<Gitignore>>) -> bool {
        let name = entry.file_name();
        let inside = at.join(&name);
        let whole = self.root.join(&inside);
        let Ok(kind) = entry.file_type() else { return true };
        let is_own = at.as_os_str().is_empty() && name == FILE;
        let is_ignored = is_ignored(ignored, &whole, kind.is_dir());
        if is_own || is_ignored && !kind.is_file() && !kind.is_dir() {
            return true;
        }
        if kind.is_symlink() && !self.is_skipped(&inside) {
            self.link(entry, &whole);
        } else if kind.is_dir() && (is_ignored || self.is_skipped(&inside)) {
            self.outline(&inside, is_ignored);
        } else if kind.is_file() {
            let Ok(metadata) = entry.metadata() else { return true };
            if is_ignored && (metadata.len() > MAX_IGNORED_BYTES || self.left_ignored == 0) {
                self.outline(&inside, true);
                return true;
            }
            let left = if is_ignored { &mut self.left_ignored } else { &mut self.left };
            let Some(fewer) = left.checked_sub(1) else { return false };
            *left = fewer;
            let version = Version { stat: Stat::of(&metadata), is_ignored, kept: None };
            // A path that is not text is not recorded.
            if let Some(whole) = whole.to_str() {
                self.snapshot.files.insert(whole.into(), version);
            }
        } else if kind.is_dir() {
            match entry.open_dir() {
                Ok(inner) if inside.components().count() <= MAX_DEPTH => {
                    return self.directory(&inner, &inside, ignored);
                }
                _ => self.snapshot.unread.push(whole),
            }
        }
        true
    }

    /// Adds a symbolic link. It is not recorded, but the user is told.
    fn link(&mut self, entry: &DirEntry, whole: &Path) {
        if self.snapshot.links.len() < MAX_LINKS
            && let Ok(metadata) = entry.metadata()
        {
            self.snapshot.links.insert(whole.to_owned(), Stat::of(&metadata));
        }
    }

    /// Watches a directory or a file that is not recorded.
    fn outline(&mut self, inside: &Path, is_ignored: bool) {
        let is_generated = is_generated(inside);
        if self.outlines && !self.is_cache(inside) {
            let path = self.root.join(inside);
            let counts =
                if is_ignored && !is_generated { Counts::Changes } else { counts_in(&path) };
            if inside.ends_with(".git") {
                self.snapshot.outline.add_repository(path.clone());
            }
            self.snapshot.outline.add(path, counts);
        }
    }

    /// Returns whether programs generate a directory.
    fn is_skipped(&self, inside: &Path) -> bool {
        is_generated(inside) || self.is_cache(inside)
    }

    /// Returns whether programs keep their own files in a directory.
    fn is_cache(&self, inside: &Path) -> bool {
        self.is_home && SKIPPED_AT_HOME.iter().any(|path| inside == Path::new(path))
    }
}

fn is_generated(inside: &Path) -> bool {
    SKIPPED.iter().any(|name| inside.ends_with(name))
}

/// Returns what the paths below a directory begin with.
pub(super) fn prefix(root: &Path) -> String {
    format!("{}/", root.display().to_string().trim_end_matches('/'))
}
