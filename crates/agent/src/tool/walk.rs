//! Walks a directory tree without leaving it. Symbolic links are not followed.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, DirEntry};
use ignore::gitignore::Gitignore;

use super::Failure;
use crate::ignored::{is_ignored, rules};
use waterline_sandbox::workspace::{Location, Workspace};

/// Maximum number of files that are visited.
pub(super) const MAX_FILES: usize = 50_000;

/// Maximum depth of directories that are entered.
const MAX_DEPTH: usize = 128;

/// The directory in which git keeps its own files. It is never entered.
const GIT: &str = ".git";

/// Directories that contain no files written by people.
const GENERATED: [&str; 2] = ["node_modules", "__pycache__"];

/// Directories that programs generate. In a git work tree `.gitignore` names them, or they have
/// another meaning.
const GENERATED_ELSEWHERE: [&str; 6] =
    [".venv", "venv", "target", ".tox", ".mypy_cache", ".pytest_cache"];

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
    /// Ignored files or generated directories were skipped.
    pub(super) ignored: bool,
}

impl Missed {
    /// Returns one line per note for the model; `None` if the walk was complete.
    pub(super) fn lines(&self, narrower: &str) -> Vec<String> {
        let more = self.more.then(|| format!("[more results omitted; use a narrower {narrower}]"));
        let limit = self.limit.map(|limit| {
            format!(
                "[incomplete: only the first {limit} files were searched; set `path` to a \
                 subdirectory]"
            )
        });
        let unread = (self.unread > 0).then(|| {
            let what = if self.unread == 1 { "file or directory" } else { "files or directories" };
            format!("[incomplete: {} {what} could not be read]", self.unread)
        });
        [more, limit, unread].into_iter().flatten().collect()
    }

    /// Returns the note for a search that found nothing, if it skipped something.
    pub(super) fn ignored_line(&self) -> Option<String> {
        self.ignored.then(|| {
            "[ignored files were not searched; set `include_ignored` to search them too]".to_owned()
        })
    }
}

/// What a walk visits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    /// Maximum number of files.
    pub(super) max_files: usize,
    /// Whether files that `.gitignore` names, and generated directories, are visited too.
    pub(super) include_ignored: bool,
}

/// Visits the files below a path in name order until `visit` returns false or the maximum of files
/// was visited. Returns what was not visited.
pub(super) fn walk(
    workspace: &Workspace,
    path: &str,
    scope: Scope,
    visit: impl FnMut(&Visited<'_>) -> bool,
) -> Result<Missed, Failure> {
    let location = workspace.location(path)?;
    let dir = location.dir.open_dir(&location.path).map_err(|error| match error.kind() {
        ErrorKind::NotADirectory => Failure::new(format!("{path} is not a directory.")),
        _ => workspace.explain(path, error).into(),
    })?;
    let base: PathBuf =
        Path::new(path).components().filter(|part| *part != Component::CurDir).collect();
    let mut walk = Walk {
        base: &base,
        start: location.whole.components().collect(),
        scope,
        left: scope.max_files,
        in_git: false,
        rules: Vec::new(),
        missed: Missed::default(),
        visit,
    };
    walk.read_rules_above(&location);
    walk.directory(&dir, Path::new(""));
    Ok(walk.missed)
}

struct Walk<'a, V> {
    base: &'a Path,
    /// The absolute path of the directory where the walk starts.
    start: PathBuf,
    scope: Scope,
    left: usize,
    /// Whether the current directory is in a git work tree.
    in_git: bool,
    /// The rules of the current directory and those above it.
    rules: Vec<Arc<Gitignore>>,
    missed: Missed,
    visit: V,
}

impl<V: FnMut(&Visited<'_>) -> bool> Walk<'_, V> {
    /// Reads the ignore rules of the directories above the start that the agent may read, from the
    /// outermost one.
    fn read_rules_above(&mut self, location: &Location<'_>) {
        self.in_git = self.start.ancestors().any(|above| above.join(GIT).exists());
        let start = self.start.clone();
        let below_root = location.path.components().filter(|part| *part != Component::CurDir);
        let above = start.ancestors().skip(1).take(below_root.count());
        let inside = location.path.ancestors().skip(1);
        for (whole, inside) in above.zip(inside).collect::<Vec<_>>().into_iter().rev() {
            let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
            if let Ok(dir) = location.dir.open_dir(inside) {
                self.read_rules(&dir, whole);
            }
        }
    }

    /// Reads the ignore rules of a directory, if it is in a git work tree.
    fn read_rules(&mut self, dir: &Dir, whole: &Path) {
        self.in_git |= dir.exists(GIT);
        if self.in_git && !self.scope.include_ignored {
            self.rules.extend(rules(dir, whole));
        }
    }

    /// Walks a directory with its own ignore rules. Returns whether to continue after it.
    fn directory(&mut self, dir: &Dir, at: &Path) -> bool {
        let (was_in_git, count) = (self.in_git, self.rules.len());
        self.read_rules(dir, &self.start.join(at));
        let continues = self.entries(dir, at);
        self.in_git = was_in_git;
        self.rules.truncate(count);
        continues
    }

    /// Visits the entries of a directory. Returns whether to continue after it.
    fn entries(&mut self, dir: &Dir, at: &Path) -> bool {
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
        if kind.is_dir() && name == Path::new(GIT) {
            return true;
        }
        if self.is_ignored(&name, &inside, kind.is_dir()) {
            self.missed.ignored = true;
            return true;
        }
        if kind.is_dir() {
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

    /// Returns whether an entry is skipped because it is generated.
    fn is_ignored(&self, name: &Path, inside: &Path, is_directory: bool) -> bool {
        let is_one_of = |names: &[&str]| names.iter().any(|other| name == Path::new(other));
        let is_generated = is_directory
            && (is_one_of(&GENERATED) || !self.in_git && is_one_of(&GENERATED_ELSEWHERE));
        !self.scope.include_ignored
            && (is_generated || is_ignored(&self.rules, &self.start.join(inside), is_directory))
    }

    fn file(&mut self, dir: &Dir, name: &Path, inside: &Path) -> bool {
        if self.left == 0 {
            self.missed.limit = Some(self.scope.max_files);
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

    const fn at_most(max_files: usize) -> Scope {
        Scope { max_files, include_ignored: false }
    }

    /// Returns the paths that a walk visits, and whether it skipped some.
    fn visited(workspace: &Workspace, path: &str, include_ignored: bool) -> (String, bool) {
        let mut found = Vec::new();
        let scope = Scope { max_files: 100, include_ignored };
        let missed = walk(workspace, path, scope, |file| {
            found.push(file.path());
            true
        });
        (found.join(" "), missed.unwrap().ignored)
    }

    #[test]
    fn ignored_files_of_a_git_work_tree_are_skipped() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        workspace.write("temp/.gitignore", b"/build/\n*.log\n!keep.log\n").unwrap();
        let files = ["a.log", "build/x.rs", "deep/b.log", "deep/keep.log", "target/t.rs"];
        for path in files {
            workspace.write(&format!("temp/{path}"), b"x").unwrap();
        }
        let all = "temp/.gitignore temp/a.log temp/build/x.rs temp/deep/b.log temp/deep/keep.log";
        assert_eq!(visited(&workspace, "temp", false), (all.to_owned(), true), "no work tree");
        std::fs::create_dir(directory.path().join("temp/.git")).unwrap();
        std::fs::write(directory.path().join("temp/.git/config"), "").unwrap();
        let kept = "temp/.gitignore temp/deep/keep.log temp/target/t.rs";
        assert_eq!(visited(&workspace, "temp", false), (kept.to_owned(), true));
        let root = (format!("{kept} workspace.json"), true);
        assert_eq!(visited(&workspace, "", false), root, "found on the way");
        let deep = visited(&workspace, "temp/deep", false);
        assert_eq!(deep, ("temp/deep/keep.log".to_owned(), true), "with the rules above it");
        let build = visited(&workspace, "temp/build", false);
        assert_eq!(build, ("temp/build/x.rs".to_owned(), false), "it was asked for");
        let whole = format!("{all} temp/target/t.rs");
        assert_eq!(visited(&workspace, "temp", true), (whole, false));
    }

    #[test]
    fn a_walk_stops_at_the_depth_limit() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        std::fs::create_dir_all(directory.path().join("temp").join("d/".repeat(MAX_DEPTH + 5)))
            .unwrap();
        let missed = walk(&workspace, "temp", at_most(3), |_| true).unwrap();
        assert_eq!(missed, Missed { unread: 1, ..Missed::default() });
        assert_eq!(missed.lines("glob"), ["[incomplete: 1 file or directory could not be read]"]);
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
        let missed = walk(&workspace, "outputs", at_most(3), |file| {
            seen.push((file.inside.display().to_string(), file.path()));
            true
        });
        assert_eq!(missed.unwrap(), Missed::default());
        let all = [("a", "outputs/a"), ("b", "outputs/b"), ("deep/c", "outputs/deep/c")];
        assert_eq!(seen, all.map(|(inside, path)| (inside.to_owned(), path.to_owned())));
        let missed = walk(&workspace, "outputs", at_most(2), |_| true).unwrap();
        assert_eq!(missed, Missed { limit: Some(2), ..Missed::default() });
        assert!(missed.lines("pattern").concat().contains("only the first 2 files"), "{missed:?}");
    }
}
