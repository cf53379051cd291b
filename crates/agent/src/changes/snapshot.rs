//! Snapshots of the writable directories around a command. The contents of unchanged files are
//! read once per process and kept in a temporary file without a name.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::ops::Bound;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, DirEntry, Metadata, MetadataExt};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use waterline_log::content_hash;
use waterline_sandbox::workspace::{FILE, FileAt, Workspace};

use super::{Content, FileState, MAX_FILE_BYTES};

/// The most files that are compared in one directory.
const MAX_FILES: usize = 20_000;

/// Limits of the ignored files that are compared in one directory: an `.env` cannot be created
/// again, but most ignored files can.
const MAX_IGNORED_FILES: usize = 1_000;
const MAX_IGNORED_BYTES: u64 = 64_000;

/// The most bytes that are kept.
const MAX_KEPT_BYTES: u64 = 256_000_000;

/// The most bytes of changed files that are recorded for one command.
const MAX_COMMAND_BYTES: usize = 64_000_000;

/// A larger `.gitignore` is not read.
const MAX_RULES_BYTES: u64 = 1_000_000;

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

/// What identifies the version of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
    mode: u32,
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

    fn large(&self) -> Content {
        let (seconds, nanos) = self.modified;
        Content::of_large(self.size, i128::from(seconds) * 1_000_000_000 + i128::from(nanos))
    }
}

/// A version of a file in a snapshot.
#[derive(Clone, Debug)]
struct Version {
    stat: Stat,
    is_ignored: bool,
    /// Where its content is kept; none if it is too large.
    kept: Option<Kept>,
}

/// Where the content of a file is in the temporary file.
#[derive(Clone, Debug)]
struct Kept {
    hash: Arc<str>,
    at: u64,
}

/// The ignore rules of directories. The later walk uses those of the earlier one, so that a changed
/// `.gitignore` does not look like a created or deleted file.
type Rules = HashMap<PathBuf, Option<Arc<Gitignore>>>;

/// The files of the writable directories at one time, by absolute path. Paths are texts, because
/// comparing them component by component takes longer than reading the directories.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    files: BTreeMap<Arc<str>, Version>,
    rules: Rules,
    /// Directories that could not be read.
    unread: Vec<PathBuf>,
    /// Writable directories with too many files.
    pub(super) too_large: Vec<PathBuf>,
}

/// What differs from a snapshot.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) files: Vec<Compared>,
    /// The directories that are new.
    pub(super) directories: Vec<PathBuf>,
}

/// A file that a command changed, with the contents that are known.
#[derive(Debug)]
pub(super) struct Compared {
    pub(super) path: PathBuf,
    pub(super) before: FileState,
    pub(super) after: FileState,
    pub(super) old: Option<Vec<u8>>,
    pub(super) new: Option<Vec<u8>>,
}

impl Compared {
    /// Drops the contents if they are more than what is left.
    fn limit(&mut self, left: &mut usize) {
        let size = [&self.old, &self.new].into_iter().flatten().map(Vec::len).sum();
        match left.checked_sub(size) {
            Some(rest) => *left = rest,
            None => {
                [&mut self.old, &mut self.new].into_iter().for_each(|content| *content = None);
                let states = [&mut self.before, &mut self.after].into_iter().flatten();
                states.for_each(|content| content.unstored = true);
            }
        }
    }
}

/// The contents of the files, as far as they were read.
#[derive(Debug)]
pub(super) struct Contents {
    /// The directory of the temporary file.
    directory: PathBuf,
    spool: Option<File>,
    end: u64,
    known: HashMap<Arc<str>, Version>,
}

impl Contents {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, spool: None, end: 0, known: HashMap::new() }
    }

    /// Takes a snapshot, and reads the files that changed since the last one. `is_only` says that
    /// no other snapshot is in use.
    pub(super) fn take(&mut self, workspace: &Workspace, is_only: bool) -> Snapshot {
        let mut snapshot = walk(workspace, &Rules::new());
        let size: u64 = snapshot.files.values().map(|version| version.stat.size).sum();
        if is_only && self.end > MAX_KEPT_BYTES / 2 && self.end > 2 * size {
            // Most of the file holds versions that no longer exist.
            self.known.clear();
            self.end = 0;
        }
        let mut known = HashMap::new();
        for (root, dir) in workspace.writable_roots() {
            let root = prefix(root);
            let from = (Bound::Included(root.as_str()), Bound::Unbounded);
            let below = snapshot.files.range_mut::<str, _>(from);
            for (path, version) in below {
                let Some(inside) = path.strip_prefix(&root) else { break };
                let same = self.known.get(path).filter(|known| known.stat == version.stat);
                version.kept = match same {
                    Some(same) => same.kept.clone(),
                    None => self.keep(dir, Path::new(inside), version.stat),
                };
                known.insert(Arc::clone(path), version.clone());
            }
        }
        self.known = known;
        snapshot
    }

    /// Returns the files that differ from a snapshot, and the directories that are new.
    pub(super) fn compare(&self, workspace: &Workspace, before: &Snapshot) -> Difference {
        let now = walk(workspace, &before.rules);
        let missed: Vec<&PathBuf> =
            [&before.unread, &before.too_large, &now.unread, &now.too_large]
                .into_iter()
                .flatten()
                .collect();
        let is_covered = |path: &Path| !missed.iter().any(|missed| path.starts_with(missed));
        // Every directory that was read has an entry in the rules.
        let is_new = |path: &&PathBuf| !before.rules.contains_key(*path) && is_covered(path);
        let directories = now.rules.keys().filter(is_new).cloned().collect();
        let deleted = before.files.keys().filter(|path| !now.files.contains_key(*path));
        let is_changed = |(path, version): &(&Arc<str>, &Version)| match before.files.get(*path) {
            Some(before) => before.stat != version.stat,
            // An ignored file that a command creates is an output.
            None => !version.is_ignored,
        };
        let changed = now.files.iter().filter(is_changed).map(|(path, _)| path);
        let mut left = MAX_COMMAND_BYTES;
        let found = deleted.chain(changed).filter(|path| is_covered(Path::new(&***path)));
        let found = found.filter_map(|path| {
            let (before, old) = self.before(before.files.get(path));
            let (after, new) = now_at(workspace, path)?;
            (before != after).then(|| {
                let path = PathBuf::from(&**path);
                let mut found = Compared { path, before, after, old, new };
                found.limit(&mut left);
                found
            })
        });
        Difference { files: found.collect(), directories }
    }

    /// Returns what a file held when the snapshot was taken.
    fn before(&self, version: Option<&Version>) -> (FileState, Option<Vec<u8>>) {
        let Some(Version { stat, kept, .. }) = version else { return (None, None) };
        let content = kept.as_ref().and_then(|kept| {
            let mut bytes = vec![0; usize::try_from(stat.size).ok()?];
            self.spool.as_ref()?.read_exact_at(&mut bytes, kept.at).ok()?;
            Some((kept.hash.to_string(), bytes))
        });
        match content {
            Some((hash, bytes)) => {
                (Some(Content { hash, mode: Some(stat.mode), unstored: false }), Some(bytes))
            }
            None => (Some(stat.large()), None),
        }
    }

    /// Reads a file and keeps its content; none if it is too large or changes meanwhile.
    fn keep(&mut self, dir: &Dir, inside: &Path, stat: Stat) -> Option<Kept> {
        if stat.size > MAX_FILE_BYTES || self.end + stat.size > MAX_KEPT_BYTES {
            return None;
        }
        let bytes = dir.read(inside).ok()?;
        if bytes.len() as u64 != stat.size {
            return None;
        }
        if self.spool.is_none() {
            self.spool = Some(tempfile::tempfile_in(&self.directory).ok()?);
        }
        self.spool.as_ref()?.write_all_at(&bytes, self.end).ok()?;
        let kept = Kept { hash: content_hash(&bytes).into(), at: self.end };
        self.end += stat.size;
        Some(kept)
    }
}

/// Returns what is at a path now; `None` if it is not a regular file.
fn now_at(workspace: &Workspace, path: &str) -> Option<(FileState, Option<Vec<u8>>)> {
    let found = workspace.file_at(path, MAX_FILE_BYTES).ok()?;
    // A file that became a link or a directory counts as deleted: neither is restored.
    let state = super::state_of(&found).unwrap_or_default();
    Some(match found {
        FileAt::File { bytes, .. } => (state, Some(bytes)),
        _ => (state, None),
    })
}

/// Walks through the writable directories.
fn walk(workspace: &Workspace, rules: &Rules) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (root, dir) in workspace.writable_roots() {
        let left = MAX_FILES;
        let left_ignored = MAX_IGNORED_FILES;
        Walk { snapshot: &mut snapshot, rules, root, left, left_ignored }.start(dir);
    }
    snapshot
}

/// A walk through one writable directory.
struct Walk<'a> {
    snapshot: &'a mut Snapshot,
    rules: &'a Rules,
    root: &'a Path,
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
        if is_own || is_ignored && !kind.is_file() {
            return true;
        }
        if kind.is_file() {
            let Ok(metadata) = entry.metadata() else { return true };
            if is_ignored && (metadata.len() > MAX_IGNORED_BYTES || self.left_ignored == 0) {
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
        } else if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) {
            match entry.open_dir() {
                Ok(inner) if inside.components().count() <= MAX_DEPTH => {
                    return self.directory(&inner, &inside, ignored);
                }
                _ => self.snapshot.unread.push(whole),
            }
        }
        true
    }
}

/// Returns what the paths below a directory begin with.
fn prefix(root: &Path) -> String {
    format!("{}/", root.display().to_string().trim_end_matches('/'))
}

/// Returns whether the rules ignore a path. Those of the innermost directory come first.
fn is_ignored(rules: &[Arc<Gitignore>], path: &Path, is_directory: bool) -> bool {
    let mut matches = rules.iter().rev().map(|rules| rules.matched(path, is_directory));
    matches.find(|matched| !matched.is_none()).is_some_and(|matched| matched.is_ignore())
}

/// Reads the ignore rules of a directory; none if it has none.
fn rules(dir: &Dir, whole: &Path) -> Option<Arc<Gitignore>> {
    let metadata = dir.symlink_metadata(".gitignore").ok()?;
    if !metadata.is_file() || metadata.len() > MAX_RULES_BYTES {
        return None;
    }
    let text = dir.read_to_string(".gitignore").ok()?;
    let mut builder = GitignoreBuilder::new(whole);
    for line in text.lines() {
        // A line that is not a pattern ignores nothing, as in git.
        drop(builder.add_line(None, line));
    }
    builder.build().ok().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        (directory, workspace)
    }

    fn names(found: &[Compared]) -> Vec<String> {
        let name = |found: &Compared| found.path.file_name().unwrap().to_str().unwrap().to_owned();
        found.iter().map(name).collect()
    }

    /// Taking back the change must not delete files that existed before.
    #[test]
    fn a_changed_gitignore_does_not_look_like_created_and_deleted_files() {
        let (directory, workspace) = workspace();
        let write = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        write(".gitignore", "*.log\n");
        write("a.log", "kept");
        write("a.txt", "kept");
        let mut contents = Contents::new(directory.path().to_owned());
        let before = contents.take(&workspace, true);
        write(".gitignore", "*.txt\n");
        assert_eq!(names(&contents.compare(&workspace, &before).files), [".gitignore"]);
    }

    /// Git does not have an ignored file either.
    #[test]
    fn small_ignored_files_that_existed_are_compared() {
        let (directory, workspace) = workspace();
        let write = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        std::fs::create_dir_all(directory.path().join("build")).unwrap();
        write(".gitignore", ".env\n*.log\nbuild/\n");
        ["a.log", "build/out", ".env"].iter().for_each(|name| write(name, "own"));
        write("large.log", &"x".repeat(100_000));
        let mut contents = Contents::new(directory.path().to_owned());
        let before = contents.take(&workspace, true);
        ["a.log", "build/out", "large.log", ".env"].iter().for_each(|name| {
            std::fs::remove_file(directory.path().join(name)).unwrap();
        });
        write("new.log", "output");
        let found = contents.compare(&workspace, &before).files;
        assert_eq!(names(&found), [".env", "a.log"]);
        assert_eq!(found[0].old.as_deref(), Some(b"own".as_slice()));
    }

    #[test]
    fn overlapping_snapshots_have_their_own_contents() {
        let (directory, workspace) = workspace();
        let path = directory.path().join("a.txt");
        std::fs::write(&path, "one").unwrap();
        let mut contents = Contents::new(directory.path().to_owned());
        let first = contents.take(&workspace, true);
        std::fs::write(&path, "second").unwrap();
        let second = contents.take(&workspace, false);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/hosts", &path).unwrap();
        for (snapshot, old) in [(first, "one"), (second, "second")] {
            let found = contents.compare(&workspace, &snapshot).files;
            assert_eq!(found[0].old.as_deref(), Some(old.as_bytes()));
            assert_eq!((&found[0].after, &found[0].new), (&None, &None), "a link is not a file");
        }
    }

    #[test]
    fn a_directory_with_too_many_files_is_left_out_as_a_whole() {
        let (directory, workspace) = workspace();
        for number in 0..=MAX_FILES {
            std::fs::write(directory.path().join(format!("outputs/{number}")), "").unwrap();
        }
        let mut contents = Contents::new(directory.path().to_owned());
        let before = contents.take(&workspace, true);
        assert_eq!(before.too_large, [workspace.path()]);
        std::fs::remove_dir_all(directory.path().join("outputs")).unwrap();
        assert!(contents.compare(&workspace, &before).files.is_empty());
    }
}
