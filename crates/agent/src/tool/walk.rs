//! Walks a directory tree without leaving it. Symbolic links are not followed.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, DirEntry};

use super::Failure;
use waterline_sandbox::workspace::Workspace;

/// Maximum number of files that are visited.
pub(super) const MAX_FILES: usize = 50_000;

/// Maximum depth of directories that are entered.
const MAX_DEPTH: usize = 128;

/// Directories that contain no files written by people.
const SKIPPED: [&str; 3] = [".git", "node_modules", "__pycache__"];

/// A file found by the walk.
pub(super) struct Visited<'a> {
    /// The handle of its directory.
    pub(super) dir: &'a Dir,
    /// Its name in that directory.
    pub(super) name: &'a Path,
    /// Its path relative to the start of the walk; patterns match against it.
    pub(super) inside: &'a Path,
    base: &'a Path,
}

impl Visited<'_> {
    /// Returns its path in the form the other tools accept.
    pub(super) fn path(&self) -> String {
        self.base.join(self.inside).display().to_string()
    }
}

/// What a walk did not visit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Missed {
    /// The visitor stopped the walk: there are more results.
    pub(super) more: bool,
    /// The file limit, if it was reached.
    pub(super) limit: Option<usize>,
    /// Number of files and directories that could not be read.
    pub(super) unread: usize,
}

impl Missed {
    /// Returns one line per note for the model; none if the walk was complete.
    pub(super) fn lines(&self, narrower: &str) -> Vec<String> {
        let more = self.more.then(|| format!("[more results omitted; use a narrower {narrower}]"));
        let limit = self.limit.map(|limit| {
            format!(
                "[incomplete: only the first {limit} files were searched; set `path` to a \
                 subdirectory]"
            )
        });
        let unread = (self.unread > 0).then(|| {
            format!("[incomplete: files or directories that could not be read: {}]", self.unread)
        });
        [more, limit, unread].into_iter().flatten().collect()
    }
}

/// Visits the files below a path in name order until `visit` returns false or `max_files` files
/// were visited. Returns what was not visited.
pub(super) fn walk(
    workspace: &Workspace,
    path: &str,
    max_files: usize,
    visit: impl FnMut(&Visited<'_>) -> bool,
) -> Result<Missed, Failure> {
    let location = workspace.location(path)?;
    let dir = location.dir.open_dir(&location.path).map_err(|error| match error.kind() {
        ErrorKind::NotADirectory => Failure::new(format!("{path} is not a directory.")),
        _ => workspace.explain(path, error).into(),
    })?;
    let base: PathBuf =
        Path::new(path).components().filter(|part| *part != Component::CurDir).collect();
    let mut walk =
        Walk { base: &base, max_files, left: max_files, missed: Missed::default(), visit };
    walk.directory(&dir, Path::new(""));
    Ok(walk.missed)
}

struct Walk<'a, V> {
    base: &'a Path,
    max_files: usize,
    left: usize,
    missed: Missed,
    visit: V,
}

impl<V: FnMut(&Visited<'_>) -> bool> Walk<'_, V> {
    /// Walks a directory. Returns whether to continue after it.
    fn directory(&mut self, dir: &Dir, at: &Path) -> bool {
        let entries = match dir.entries() {
            Ok(entries) => entries,
            Err(error) => return self.skip(&error),
        };
        let mut found = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => found.push(entry),
                Err(error) => {
                    self.skip(&error);
                }
            }
        }
        found.sort_by_key(DirEntry::file_name);
        found.iter().all(|entry| self.entry(dir, entry, at))
    }

    fn entry(&mut self, dir: &Dir, entry: &DirEntry, at: &Path) -> bool {
        let name = PathBuf::from(entry.file_name());
        let inside = at.join(&name);
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) => return self.skip(&error),
        };
        if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == Path::new(skipped)) {
            return match entry.open_dir() {
                // Each parent directory stays open, and a command can nest directories without
                // limit.
                Ok(_) if inside.components().count() > MAX_DEPTH => {
                    self.missed.unread += 1;
                    true
                }
                Ok(inner) => self.directory(&inner, &inside),
                Err(error) => self.skip(&error),
            };
        }
        !kind.is_file() || self.file(dir, &name, &inside)
    }

    fn file(&mut self, dir: &Dir, name: &Path, inside: &Path) -> bool {
        if self.left == 0 {
            self.missed.limit = Some(self.max_files);
            return false;
        }
        self.left -= 1;
        let continues = (self.visit)(&Visited { dir, name, inside, base: self.base });
        self.missed.more = !continues;
        continues
    }

    /// Skips an entry that cannot be read, and counts it unless it was removed in the meantime.
    fn skip(&mut self, error: &std::io::Error) -> bool {
        self.missed.unread += usize::from(error.kind() != ErrorKind::NotFound);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_stops_at_the_depth_limit() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        std::fs::create_dir_all(directory.path().join("temp").join("d/".repeat(MAX_DEPTH + 5)))
            .unwrap();
        let missed = walk(&workspace, "temp", 3, |_| true).unwrap();
        assert_eq!(missed, Missed { unread: 1, ..Missed::default() });
    }

    /// Reaching exactly the limit is still a complete walk.
    #[test]
    fn a_walk_reports_that_the_file_limit_was_reached() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
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
