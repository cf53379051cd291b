//! Snapshots of the writable directories around a command. The contents of unchanged files are
//! read once per process and kept in a temporary file without a name.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::ops::Bound;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use waterline_log::content_hash;
use waterline_sandbox::workspace::{FileAt, Workspace};

use super::outline::Lost;
use super::walk::{Kept, MAX_LINKS, Rules, Snapshot, Stat, Version, prefix, walk};
use super::{Content, FileState, MAX_FILE_BYTES};

/// Maximum number of bytes that are kept.
const MAX_KEPT_BYTES: u64 = 256_000_000;

/// Maximum number of bytes of changed files that are recorded for one command.
const MAX_COMMAND_BYTES: usize = 64_000_000;

/// What differs from a snapshot.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) files: Vec<Compared>,
    /// The directories that are new.
    pub(super) directories: Vec<PathBuf>,
    /// Files that are not recorded and were changed or deleted.
    pub(super) lost: Vec<Lost>,
    /// Git directories in which commits or branches changed.
    pub(super) repositories: Vec<PathBuf>,
    /// Symbolic links that are new, changed or gone.
    pub(super) links: Vec<PathBuf>,
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
        let mut snapshot = walk(workspace, &Rules::new(), true);
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
        let now = walk(workspace, &before.rules, false);
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
        let mut lost = before.outline.lost();
        lost.retain(|lost| is_covered(&lost.path));
        let mut repositories = before.outline.changed_repositories();
        repositories.retain(|path| is_covered(path));
        let mut links = changed_links(before, &now);
        links.retain(|path| is_covered(path));
        Difference { files: found.collect(), directories, lost, repositories, links }
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

    /// Reads a file and keeps its content; `None` if it is too large or changes meanwhile.
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

/// Returns the symbolic links that are new, changed or gone.
fn changed_links(before: &Snapshot, now: &Snapshot) -> Vec<PathBuf> {
    // Two walks would stop at different links.
    if before.links.len().max(now.links.len()) >= MAX_LINKS {
        return Vec::new();
    }
    let paths: BTreeSet<&PathBuf> = before.links.keys().chain(now.links.keys()).collect();
    let is_changed = |path: &&PathBuf| before.links.get(*path) != now.links.get(*path);
    paths.into_iter().filter(is_changed).cloned().collect()
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

#[cfg(test)]
mod tests {
    use super::super::walk::MAX_FILES;
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

    /// Undoing the change must not delete files that existed before.
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

    /// A build in a project fills the caches of its tools, which are below the home directory.
    #[test]
    fn caches_at_home_are_no_changes_and_the_same_names_in_a_project_are() {
        let (directory, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let grant = project.path().display().to_string().parse().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[grant]).unwrap();
        let mut contents = Contents::new(directory.path().to_owned());
        let before = contents.take(&workspace, true);
        for name in [".cargo/.package-cache", ".cargo/registry/a", "go/pkg/mod/a", ".npm/_logs/a"] {
            let path = workspace.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "cache").unwrap();
        }
        std::fs::create_dir(project.path().join(".cargo")).unwrap();
        std::fs::write(project.path().join(".cargo/config.toml"), "[build]").unwrap();
        std::fs::create_dir_all(workspace.path().join("go/src")).unwrap();
        std::fs::write(workspace.path().join("go/src/main.go"), "package main").unwrap();
        let found = contents.compare(&workspace, &before);
        let mut names = names(&found.files);
        names.sort();
        assert_eq!(names, ["config.toml", "main.go"]);
        let is_cache = |path: &PathBuf| path.ends_with(".npm") || path.ends_with("registry");
        assert!(!found.directories.iter().any(is_cache), "{:?}", found.directories);
    }

    #[test]
    fn links_are_named_and_temporary_files_are_not() {
        let (directory, workspace) = workspace();
        let link = |name: &str, to: &str| {
            std::os::unix::fs::symlink(to, directory.path().join(name)).unwrap();
        };
        link("kept", "/etc/hosts");
        link("gone", "/etc/hosts");
        std::fs::create_dir_all(directory.path().join("temp")).unwrap();
        let mut contents = Contents::new(directory.path().to_owned());
        let before = contents.take(&workspace, true);
        std::fs::remove_file(directory.path().join("gone")).unwrap();
        link("new", "/etc/hosts");
        std::fs::write(directory.path().join("temp/tmp.RRL4M"), "scratch").unwrap();
        let found = contents.compare(&workspace, &before);
        assert_eq!(found.links, ["gone", "new"].map(|name| workspace.path().join(name)));
        assert!(found.files.is_empty(), "{:?}", found.files);
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
