//! Going through a folder, file by file, without leaving it. Links are not followed.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, DirEntry};

use super::Failure;
use waterline_sandbox::workspace::Workspace;

/// More files than this are not looked at.
pub(super) const FILES: usize = 50_000;

/// Folders further down than this are not looked into.
const DEEPEST: usize = 128;

/// Folders that hold nothing a person wrote.
const SKIPPED: [&str; 3] = [".git", "node_modules", "__pycache__"];

/// A file on the way.
pub(super) struct Visited<'a> {
    /// The handle of its folder.
    pub(super) dir: &'a Dir,
    /// Its name in that folder.
    pub(super) name: &'a Path,
    /// Its path from where the walk began: what patterns are about.
    pub(super) inside: &'a Path,
    base: &'a Path,
}

impl Visited<'_> {
    /// Its path as the other tools take it.
    pub(super) fn path(&self) -> String {
        self.base.join(self.inside).display().to_string()
    }
}

/// What was not looked at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Missed {
    /// Whoever visits had enough: there is more of what is looked for.
    pub(super) more: bool,
    /// There are more files than these, which is as many as are looked at.
    pub(super) limit: Option<usize>,
    /// Files and folders that could not be read.
    pub(super) unread: usize,
}

impl Missed {
    /// A line for each thing that whoever asked must know; none where everything was looked at.
    pub(super) fn lines(&self, narrower: &str) -> Vec<String> {
        let more = self.more.then(|| format!("[there are more; use a narrower {narrower}]"));
        let limit = self.limit.map(|limit| {
            format!("[not all was looked at, only the first {limit} files; name a folder further down as path]")
        });
        let unread = (self.unread > 0).then(|| {
            format!(
                "[not all was looked at; files or folders that could not be read: {}]",
                self.unread
            )
        });
        [more, limit, unread].into_iter().flatten().collect()
    }
}

/// Visits the files below a path, by name, until `visit` says that it has enough; `most` files at
/// most. Says what it did not look at.
pub(super) fn walk(
    workspace: &Workspace,
    path: &str,
    most: usize,
    visit: impl FnMut(&Visited<'_>) -> bool,
) -> Result<Missed, Failure> {
    let place = workspace.place(path)?;
    let dir = place.dir.open_dir(&place.path).map_err(|error| match error.kind() {
        ErrorKind::NotADirectory => Failure::new(format!("{path} is not a folder")),
        _ => workspace.explain(path, error).into(),
    })?;
    let base: PathBuf =
        Path::new(path).components().filter(|part| *part != Component::CurDir).collect();
    let mut walk = Walk { base: &base, most, left: most, missed: Missed::default(), visit };
    walk.below(&dir, Path::new(""));
    Ok(walk.missed)
}

/// A walk on its way.
struct Walk<'a, V> {
    base: &'a Path,
    most: usize,
    left: usize,
    missed: Missed,
    visit: V,
}

impl<V: FnMut(&Visited<'_>) -> bool> Walk<'_, V> {
    /// Goes through a folder. Says whether to go on behind it.
    fn below(&mut self, dir: &Dir, at: &Path) -> bool {
        let entries = match dir.entries() {
            Ok(entries) => entries,
            Err(error) => return self.pass(&error),
        };
        let mut found = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => found.push(entry),
                Err(error) => {
                    self.pass(&error);
                }
            }
        }
        found.sort_by_key(DirEntry::file_name);
        found.iter().all(|entry| self.step(dir, entry, at))
    }

    fn step(&mut self, dir: &Dir, entry: &DirEntry, at: &Path) -> bool {
        let name = PathBuf::from(entry.file_name());
        let inside = at.join(&name);
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) => return self.pass(&error),
        };
        if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == Path::new(skipped)) {
            return match entry.open_dir() {
                // Each folder on the way is held open, and a command can nest them without end.
                Ok(_) if inside.components().count() > DEEPEST => {
                    self.missed.unread += 1;
                    true
                }
                Ok(inner) => self.below(&inner, &inside),
                Err(error) => self.pass(&error),
            };
        }
        !kind.is_file() || self.file(dir, &name, &inside)
    }

    fn file(&mut self, dir: &Dir, name: &Path, inside: &Path) -> bool {
        if self.left == 0 {
            self.missed.limit = Some(self.most);
            return false;
        }
        self.left -= 1;
        let goes_on = (self.visit)(&Visited { dir, name, inside, base: self.base });
        self.missed.more = !goes_on;
        goes_on
    }

    /// Goes on behind what cannot be read, and counts it; what was removed meanwhile is not there
    /// to be read.
    fn pass(&mut self, error: &std::io::Error) -> bool {
        self.missed.unread += usize::from(error.kind() != ErrorKind::NotFound);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_does_not_go_down_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        std::fs::create_dir_all(folder.path().join("temp").join("d/".repeat(DEEPEST + 5))).unwrap();
        let missed = walk(&workspace, "temp", 3, |_| true).unwrap();
        assert_eq!(missed, Missed { unread: 1, ..Missed::default() });
    }

    /// As many files as are looked at are all of them.
    #[test]
    fn a_walk_says_when_there_are_more_files_than_it_looks_at() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        for path in ["outputs/a", "outputs/b", "outputs/deep/c"] {
            workspace.write(path, b"text").unwrap();
        }
        let mut seen = Vec::new();
        let missed = walk(&workspace, "outputs", 3, |file| {
            seen.push((file.inside.display().to_string(), file.path()));
            true
        });
        assert_eq!(missed.unwrap(), Missed::default());
        let all = [("a", "outputs/a"), ("b", "outputs/b"), ("deep/c", "outputs/deep/c")];
        assert_eq!(seen, all.map(|(inside, path)| (inside.to_owned(), path.to_owned())));
        let missed = walk(&workspace, "outputs", 2, |_| true).unwrap();
        assert_eq!(missed, Missed { limit: Some(2), ..Missed::default() });
        assert!(missed.lines("pattern").concat().contains("only the first 2 files"), "{missed:?}");
    }
}
