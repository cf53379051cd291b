//! Detects that a command changed or deleted files that are not recorded, because programs generate
//! them or git ignores them. Their contents are not kept; if there are many, only some are watched.

use std::collections::VecDeque;
use std::fs::{Metadata, symlink_metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most files that are watched in one directory, and in all.
const MAX_FILES_OF_ONE: usize = 1_000;
const MAX_FILES: usize = 5_000;

/// Which changes in a directory count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// Only the removal of the whole directory: every build changes what is in it.
    Whole,
    /// Deleted files: package managers change the others.
    Deletions,
    /// Deleted and changed files.
    Changes,
}

/// What was in the directories before a command.
#[derive(Debug)]
pub(super) struct Outline {
    directories: Vec<Watched>,
    repositories: Vec<Repository>,
    left: usize,
}

impl Default for Outline {
    fn default() -> Self {
        Self { directories: Vec::new(), repositories: Vec::new(), left: MAX_FILES }
    }
}

/// A directory or a file that is not recorded.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    counts: Counts,
    files: Vec<(PathBuf, Version)>,
    /// Whether these are all files.
    is_complete: bool,
}

/// The size of a file and when it was changed.
type Version = (u64, i64, i64);

fn version(metadata: &Metadata) -> Version {
    (metadata.size(), metadata.mtime(), metadata.mtime_nsec())
}

/// What changes in a git directory when a command commits, resets, switches branches or tags. A
/// directory changes when a file in it is created or replaced.
const REPOSITORY: [&str; 6] =
    ["HEAD", "logs/HEAD", "packed-refs", "refs/heads", "refs/tags", "refs/stash"];

/// A git directory and the versions of [`REPOSITORY`] in it.
#[derive(Debug)]
struct Repository {
    path: PathBuf,
    versions: [Option<Version>; REPOSITORY.len()],
}

impl Repository {
    fn new(path: PathBuf) -> Self {
        let versions = REPOSITORY
            .map(|name| symlink_metadata(path.join(name)).ok().map(|found| version(&found)));
        Self { path, versions }
    }

    fn is_changed(&self) -> bool {
        Self::new(self.path.clone()).versions != self.versions
    }
}

/// The files that a command changed or deleted in a directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) path: PathBuf,
    pub(super) count: usize,
    /// Whether there may be more.
    pub(super) or_more: bool,
}

impl Outline {
    /// Watches a directory or a file. Those near the top come first.
    pub(super) fn add(&mut self, path: PathBuf, counts: Counts) {
        let mut watched = Watched { path, counts, files: Vec::new(), is_complete: true };
        let mut queue = VecDeque::from([watched.path.clone()]);
        let most = MAX_FILES_OF_ONE.min(self.left);
        while let Some(path) = queue.pop_front() {
            let Ok(metadata) = symlink_metadata(&path) else { continue };
            if watched.files.len() >= most {
                watched.is_complete = false;
                break;
            }
            if counts == Counts::Whole {
                watched.files.push((path, version(&metadata)));
                watched.is_complete = false;
            } else if metadata.is_file() {
                watched.files.push((path, version(&metadata)));
            } else if metadata.is_dir() {
                let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
                // Entries beyond the limit would not be watched.
                queue.extend(entries.map(|entry| entry.path()).take(MAX_FILES));
            }
        }
        self.left -= watched.files.len();
        self.directories.push(watched);
    }

    /// Watches what commits and branches change in a git directory.
    pub(super) fn add_repository(&mut self, path: PathBuf) {
        self.repositories.push(Repository::new(path));
    }

    /// Returns the git directories in which commits or branches changed since.
    pub(super) fn changed_repositories(&self) -> Vec<PathBuf> {
        let changed = self.repositories.iter().filter(|found| found.is_changed());
        changed.map(|found| found.path.clone()).collect()
    }

    /// Returns the files that were changed or deleted since.
    pub(super) fn lost(&self) -> Vec<Lost> {
        self.directories.iter().filter_map(Watched::lost).collect()
    }
}

impl Watched {
    fn lost(&self) -> Option<Lost> {
        let is_lost = |(path, before): &&(PathBuf, Version)| match symlink_metadata(path) {
            Ok(metadata) => self.counts == Counts::Changes && version(&metadata) != *before,
            Err(_) => true,
        };
        let count = self.files.iter().filter(is_lost).count();
        let path = || self.path.clone();
        (count > 0).then(|| Lost { path: path(), count, or_more: !self.is_complete })
    }
}

/// Returns which changes count in a directory that programs generate.
pub(super) fn counts_in(directory: &Path) -> Counts {
    match ["node_modules", ".venv"].iter().any(|name| directory.ends_with(name)) {
        true => Counts::Deletions,
        false => Counts::Whole,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, remove_dir_all, remove_file, write};

    use super::*;

    #[test]
    fn changed_and_deleted_files_are_counted() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        for directory in ["logs/old", "node_modules/a", "target/debug"] {
            create_dir_all(at(directory)).unwrap();
            write(at(directory).join("one"), "1").unwrap();
            write(at(directory).join("two"), "2").unwrap();
        }
        let mut outline = Outline::default();
        outline.add(at("logs"), Counts::Changes);
        outline.add(at("node_modules"), counts_in(&at("node_modules")));
        outline.add(at("target"), counts_in(&at("target")));
        assert_eq!(outline.lost(), []);
        for directory in ["logs/old", "node_modules/a", "target/debug"] {
            write(at(directory).join("one"), "changed").unwrap();
            remove_file(at(directory).join("two")).unwrap();
            write(at(directory).join("new"), "new").unwrap();
        }
        let lost = |name: &str, count, or_more| Lost { path: at(name), count, or_more };
        assert_eq!(outline.lost(), [lost("logs", 2, false), lost("node_modules", 1, false)]);
        remove_dir_all(at("target")).unwrap();
        assert_eq!(outline.lost().pop(), Some(lost("target", 1, true)));
    }

    #[test]
    fn commits_and_tags_change_a_repository() {
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path().join(".git");
        ["logs", "refs/heads", "refs/tags", "objects"]
            .iter()
            .for_each(|name| create_dir_all(git.join(name)).unwrap());
        write(git.join("HEAD"), "ref: refs/heads/main").unwrap();
        let watched = || {
            let mut outline = Outline::default();
            outline.add_repository(git.clone());
            outline
        };
        for name in ["refs/heads/main", "logs/HEAD", "refs/tags/v1", "packed-refs"] {
            let outline = watched();
            assert_eq!(outline.changed_repositories(), Vec::<PathBuf>::new(), "{name}");
            write(git.join(name), "1").unwrap();
            assert_eq!(outline.changed_repositories(), [git.as_path()], "{name}");
        }
        let outline = watched();
        write(git.join("index"), "git status writes it").unwrap();
        write(git.join("objects/1"), "and this changes nothing by itself").unwrap();
        assert_eq!(outline.changed_repositories(), Vec::<PathBuf>::new());
    }

    #[test]
    fn only_some_of_many_files_are_watched() {
        let temp = tempfile::tempdir().unwrap();
        let directory = temp.path().join("logs");
        create_dir_all(directory.join("deep")).unwrap();
        for number in 0..MAX_FILES_OF_ONE + 10 {
            write(directory.join(number.to_string()), "").unwrap();
        }
        let mut outline = Outline::default();
        outline.add(directory.clone(), Counts::Changes);
        remove_dir_all(&directory).unwrap();
        let expected = Lost { path: directory, count: MAX_FILES_OF_ONE, or_more: true };
        assert_eq!(outline.lost(), [expected]);
    }
}
