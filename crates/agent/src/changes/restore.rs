//! Undoes or redoes changes of files after a session moved.
//!
//! Each file is compared with its target first, so that an interrupted move can simply be repeated.
//! Files that someone else changed meanwhile are kept unless the caller says otherwise.

use std::collections::BTreeSet;
use std::path::Path;

use waterline::phrase;
use waterline::phrase::Phrase;
use waterline_log::{Id, Log, LogError, Refusal};
use waterline_sandbox::SandboxError;
use waterline_sandbox::workspace::{FileAt, Workspace};

use super::plan::{FileMove, Moves, follow};
use super::recorder::Record;
use super::{
    Content, DiffKind, FileChange, FileDiff, FileState, MAX_FILE_BYTES, has_same_content, is_at,
    state_of, whole_path,
};
use crate::cause::Cause;

/// What happened to a file when the session moved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileOutcome {
    /// It has its recorded content again.
    Restored,
    /// It existed only because of the changes to undo, and was removed.
    Removed,
    /// It was changed by another program or a person, and was left as it is.
    ChangedMeanwhile,
    /// Only the changes after another program's change were undone.
    RestoredInPart,
    /// It is too large to be recorded, and was left as it is.
    TooLarge,
    /// It is a directory. Ignored or generated files in it were changed or deleted, and those are
    /// not recorded.
    NotRecorded,
    /// It is a git directory. What commands did in it, such as commits, stays.
    Repository,
    /// It is a symbolic link that a command created, changed or deleted. Links are not recorded.
    Link,
    /// It could not be restored, for this reason.
    Failed(Cause),
}

/// A file that a move of the session concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MovedFile {
    /// The path: absolute, or relative to the workspace.
    pub path: String,
    /// What happened to it.
    pub outcome: FileOutcome,
}

/// Returns what must happen to the files of a session so that they match its tip, if they match
/// message `from` now. Blocks.
///
/// # Errors
/// When the log cannot be read.
pub(crate) fn plan_moves(log: &Log, session: &str, from: Id) -> Result<Moves, LogError> {
    let records = log.file_changes_since(session, from)?;
    let mut undone = parse(&records.undone)?;
    undone.iter_mut().for_each(|record| record.changes.reverse());
    let redone = parse(&records.redone)?;
    let removed = directories(&undone);
    let created = directories(&redone);
    let mut remove: Vec<String> = removed.difference(&created).cloned().collect();
    remove.reverse();
    let all = |of: fn(&Record) -> &Vec<String>| -> Vec<String> {
        let paths: BTreeSet<&String> = undone.iter().flat_map(of).collect();
        paths.into_iter().cloned().collect()
    };
    Ok(Moves {
        unrecorded: all(|record| &record.unrecorded),
        links: all(|record| &record.links),
        files: follow(&changes(undone), &changes(redone)),
        create: created.difference(&removed).cloned().collect(),
        remove,
    })
}

fn parse(records: &[Vec<u8>]) -> Result<Vec<Record>, LogError> {
    let parse = |record: &Vec<u8>| {
        serde_json::from_slice(record).map_err(|error| {
            let cause = Phrase::from(error.to_string());
            LogError::Refused(Refusal::Other(phrase!(
                "files-record",
                "a record of changed files cannot be read: {cause}",
                cause = cause
            )))
        })
    };
    records.iter().map(parse).collect()
}

fn directories(records: &[Record]) -> BTreeSet<String> {
    records.iter().flat_map(|record| &record.directories).cloned().collect()
}

fn changes(records: Vec<Record>) -> Vec<FileChange> {
    records.into_iter().flat_map(|record| record.changes).collect()
}

/// Moves files and directories. `overwrites` decides about a file that someone else changed
/// meanwhile: whether their change is overwritten. Returns what happened; files that are as they
/// should be are left out. Blocks.
pub(crate) fn apply_moves(
    log: &Log,
    workspace: &Workspace,
    moves: &Moves,
    overwrites: impl Fn(&str) -> bool,
) -> Vec<MovedFile> {
    let outcome = |found: &FileMove| {
        let outcome = apply(log, workspace, found, &overwrites)?;
        Some(MovedFile { path: found.path.clone(), outcome })
    };
    // A directory that cannot be created shows as a file that cannot be restored.
    for path in &moves.create {
        let _ = workspace.create_directory(&whole_path(workspace, path));
    }
    let stays = |path: &String, outcome| MovedFile { path: path.clone(), outcome };
    let unrecorded = moves.unrecorded.iter().map(|path| stays(path, not_recorded(path)));
    let links = moves.links.iter().map(|path| stays(path, FileOutcome::Link));
    let moved = moves.files.iter().filter_map(outcome).chain(unrecorded).chain(links).collect();
    for path in &moves.remove {
        let _ = workspace.remove_empty_directory(&whole_path(workspace, path));
    }
    moved
}

/// Returns what happened to a directory that is not recorded.
fn not_recorded(path: &str) -> FileOutcome {
    match Path::new(path).ends_with(".git") {
        true => FileOutcome::Repository,
        false => FileOutcome::NotRecorded,
    }
}

impl FileMove {
    /// Returns whether someone else changed the file, so that their change would be lost. Blocks.
    #[must_use]
    pub fn conflicts(&self, workspace: &Workspace) -> bool {
        let path = whole_path(workspace, &self.path);
        let Ok(found) = workspace.file_at(&path, MAX_FILE_BYTES) else { return false };
        let current = state_of(&found);
        let is = |state: &FileState| {
            current.as_ref().is_some_and(|current| has_same_content(current, state))
        };
        let is_recorded = is_stored(&self.expected) && is_stored(&self.target);
        is_recorded && !is(&self.target) && (!is(&self.expected) || self.has_gap())
    }

    /// Returns what the move does to the file as it is now; the path is the recorded one. Blocks.
    pub(crate) fn diff(&self, log: &Log, workspace: &Workspace) -> FileDiff {
        let found = workspace.file_at(&whole_path(workspace, &self.path), MAX_FILE_BYTES);
        let target = self.target.as_ref().map(|target| log.file_content(&target.hash));
        match (found, target) {
            (Ok(FileAt::File { bytes: old, .. }), Some(Ok(new))) => {
                FileDiff::new(&self.path, Some(&old), Some(&new))
            }
            (Ok(FileAt::File { bytes: old, .. }), None) => {
                FileDiff::new(&self.path, Some(&old), None)
            }
            (Ok(FileAt::Missing), Some(Ok(new))) => FileDiff::new(&self.path, None, Some(&new)),
            (_, None) => FileDiff::unknown(&self.path, DiffKind::Deleted),
            _ => FileDiff::unknown(&self.path, DiffKind::Changed),
        }
    }

    /// Returns whether the file is in a directory that may be changed. Blocks.
    #[must_use]
    pub fn is_reachable(&self, workspace: &Workspace) -> bool {
        let path = whole_path(workspace, &self.path);
        workspace.location(&path).and_then(|location| location.to_write()).is_ok()
    }
}

/// Returns whether the content of a state is in the log.
fn is_stored(state: &FileState) -> bool {
    !state.as_ref().is_some_and(|content| content.unstored)
}

/// Moves one file. Returns `None` if it is as it should be.
fn apply(
    log: &Log,
    workspace: &Workspace,
    found: &FileMove,
    overwrites: &impl Fn(&str) -> bool,
) -> Option<FileOutcome> {
    let path = whole_path(workspace, &found.path);
    let at = match workspace.file_at(&path, MAX_FILE_BYTES) {
        Ok(at) => at,
        Err(error) => return Some(FileOutcome::Failed(error.into())),
    };
    let current = state_of(&at);
    if current.as_ref().is_some_and(|current| is_at(current, &found.target)) {
        return None;
    }
    if !is_stored(&found.expected) || !is_stored(&found.target) {
        return Some(FileOutcome::TooLarge);
    }
    let is = |state: &FileState| {
        current.as_ref().is_some_and(|current| has_same_content(current, state))
    };
    let is_as_left = is(&found.expected) || is(&found.target);
    let agreed = || overwrites(&found.path);
    let (target, in_part) = match (is_as_left, found.has_gap()) {
        (true, false) => (&found.target, false),
        (true, true) if is(&found.target) || agreed() => (&found.target, false),
        (true, true) if has_same_content(&found.safe, &found.expected) => {
            return Some(FileOutcome::ChangedMeanwhile);
        }
        (true, true) => (&found.safe, true),
        (false, _) if agreed() => (&found.target, false),
        (false, _) => return Some(FileOutcome::ChangedMeanwhile),
    };
    Some(match put(log, workspace, &path, target, &at) {
        Ok(()) if in_part => FileOutcome::RestoredInPart,
        Ok(()) if target.is_none() => FileOutcome::Removed,
        Ok(()) => FileOutcome::Restored,
        Err(why) => FileOutcome::Failed(why),
    })
}

/// Gives a path the content and the mode of a state.
fn put(
    log: &Log,
    workspace: &Workspace,
    path: &str,
    target: &FileState,
    at: &FileAt,
) -> Result<(), Cause> {
    let Some(Content { hash, mode, .. }) = target else {
        if *at == FileAt::Other {
            return Err(SandboxError::NotRegular { path: path.to_owned() }.into());
        }
        return Ok(workspace.remove_file(path)?);
    };
    let bytes = log.file_content(hash)?;
    Ok(workspace.restore_file(path, &bytes, *mode)?)
}
