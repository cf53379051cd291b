//! Computes what each file should hold after a session moved, from the records between its old and
//! its new place.

use std::collections::BTreeMap;

use super::{FileChange, FileState, has_same_content};

/// What a move of the session does to files and directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// The changes of files.
    pub files: Vec<FileMove>,
    /// Directories that the changes to redo created, outermost first.
    pub(super) create: Vec<String>,
    /// Directories that the changes to undo created, innermost first. They are removed if they
    /// are empty.
    pub(super) remove: Vec<String>,
    /// Directories in which files were changed that are not recorded.
    pub(super) unrecorded: Vec<String>,
    /// Symbolic links that were created, changed or deleted.
    pub(super) links: Vec<String>,
}

/// The change that a move of the session makes to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMove {
    /// The path: absolute, or relative to the workspace.
    pub path: String,
    /// What the file should hold now, as far as the session knows.
    pub(super) expected: FileState,
    /// What it held where the session is now.
    pub(super) target: FileState,
    /// What to restore if changes by others must be kept: the state before the oldest change that
    /// follows theirs. It is `target` if no one else changed the file between the records.
    pub(super) safe: FileState,
}

impl FileMove {
    /// Returns whether someone else changed the file between the changes to undo.
    pub(super) fn has_gap(&self) -> bool {
        !has_same_content(&self.safe, &self.target)
    }
}

/// The state of one path while the records are followed.
#[derive(Debug)]
struct Followed {
    expected: FileState,
    state: FileState,
    safe: FileState,
    has_gap: bool,
}

/// Follows the records: `undone` backwards, newest first, then `redone` forwards.
pub(super) fn follow(undone: &[FileChange], redone: &[FileChange]) -> Vec<FileMove> {
    let mut paths: BTreeMap<String, Followed> = BTreeMap::new();
    let steps = undone
        .iter()
        .map(|change| (&change.path, &change.after, &change.before))
        .chain(redone.iter().map(|change| (&change.path, &change.before, &change.after)));
    for (path, from, to) in steps {
        let followed = paths.entry(path.clone()).or_insert_with(|| Followed {
            expected: from.clone(),
            state: from.clone(),
            safe: from.clone(),
            has_gap: false,
        });
        if has_same_content(&followed.state, to) && !has_same_content(&followed.state, from) {
            // Two agents that work at the same time can both record the same change.
            continue;
        }
        if !has_same_content(&followed.state, from) {
            followed.has_gap = true;
        }
        followed.state.clone_from(to);
        if !followed.has_gap {
            followed.safe.clone_from(to);
        }
    }
    paths
        .into_iter()
        .map(|(path, followed)| FileMove {
            path,
            expected: followed.expected,
            target: followed.state,
            safe: followed.safe,
        })
        .filter(|found| found.expected != found.target)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::Content;
    use super::*;

    fn state(text: &str) -> FileState {
        (!text.is_empty()).then(|| Content::of_bytes(text.as_bytes(), Some(0o644)))
    }

    fn change(path: &str, before: &str, after: &str) -> FileChange {
        FileChange { path: path.to_owned(), before: state(before), after: state(after) }
    }

    fn moved(path: &str, expected: &str, target: &str, safe: &str) -> FileMove {
        FileMove {
            path: path.to_owned(),
            expected: state(expected),
            target: state(target),
            safe: state(safe),
        }
    }

    #[test]
    fn records_are_followed_backwards_and_then_forwards() {
        let undone = [change("a", "2", "3"), change("b", "", "x"), change("a", "1", "2")];
        assert_eq!(follow(&undone, &[]), [moved("a", "3", "1", "1"), moved("b", "x", "", "")]);
        let redone = [change("a", "1", "7"), change("c", "y", "")];
        assert_eq!(
            follow(&undone, &redone),
            [moved("a", "3", "7", "7"), moved("b", "x", "", ""), moved("c", "y", "", "")]
        );
        assert_eq!(follow(&undone, &[change("a", "1", "3"), change("b", "", "x")]), []);
    }

    #[test]
    fn a_change_by_someone_else_between_the_records_is_a_gap() {
        let undone = [change("a", "theirs", "3"), change("a", "1", "2")];
        let moves = follow(&undone, &[]);
        assert_eq!(moves, [moved("a", "3", "1", "theirs")]);
        assert!(moves[0].has_gap());
    }

    /// Sub-agents that run commands at the same time see each other's changes.
    #[test]
    fn a_change_that_is_recorded_twice_is_taken_back_once() {
        let undone = [change("a", "1", "2"), change("a", "1", "2")];
        assert_eq!(follow(&undone, &[]), [moved("a", "2", "1", "1")]);
    }
}
