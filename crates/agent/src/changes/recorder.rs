//! Records the changes of an agent and its sub-agents in the log.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use waterline_log::{FileRecord, Log, LogError, Tip};
use waterline_sandbox::SandboxError;
use waterline_sandbox::workspace::{FileAt, Workspace};

use super::snapshot::Contents;
use super::unrecorded::Unrecorded;
use super::walk::Snapshot;
use super::{Content, FileChange, FileDiff, FileWrite, MAX_FILE_BYTES, recorded_path, state_of};

/// Maximum number of bytes of file contents that are stored for one session.
const MAX_SESSION_BYTES: u64 = 500_000_000;

/// A record as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) changes: Vec<FileChange>,
    /// The directories that were created, as recorded paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) directories: Vec<String>,
    /// Directories in which files were changed or deleted that are not recorded, as recorded paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) unrecorded: Vec<String>,
    /// Symbolic links that were created, changed or deleted, as recorded paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) links: Vec<String>,
}

impl Record {
    fn is_empty(&self) -> bool {
        self.changes.is_empty()
            && self.directories.is_empty()
            && self.unrecorded.is_empty()
            && self.links.is_empty()
    }
}

/// Why a file was not written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// What was there before could not be stored, so the file was not changed.
    Log(LogError),
    /// The file cannot be written.
    Sandbox(SandboxError),
}

impl From<SandboxError> for WriteError {
    fn from(error: SandboxError) -> Self {
        Self::Sandbox(error)
    }
}

impl From<LogError> for WriteError {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

/// Identifies a call: its session and its id.
pub(crate) type CallKey = (String, String);

/// Records changes under the session of the main agent, so that `/undo` there reverts them all.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(super) log: Log,
    session: String,
    /// The message that the next change follows.
    at: Mutex<Tip>,
    /// What calls are about to write: these records are stored with the start of the call.
    planned: Mutex<HashMap<CallKey, Record>>,
    /// What commands changed, until it is stored with the result of the call.
    pub(super) finished: Mutex<HashMap<CallKey, FileRecord>>,
    /// The diffs of each call, until its result is stored.
    diffs: Mutex<HashMap<CallKey, Vec<FileDiff>>>,
    /// The files that commands may change.
    pub(super) contents: Mutex<Contents>,
    /// The snapshots of running commands. One stays here if its command is cancelled.
    pub(super) running: Mutex<HashMap<CallKey, Snapshot>>,
    /// What is not recorded and the user was not told about yet; and what was reported before.
    pub(super) unrecorded: Mutex<(Vec<Unrecorded>, Vec<Unrecorded>)>,
    /// Maximum number of bytes of file contents that are stored.
    max_bytes: u64,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// Creates the recorder of a session. `directory` is for a temporary file.
    pub(crate) fn new(log: Log, session: &str, directory: PathBuf) -> Self {
        Self {
            log,
            session: session.to_owned(),
            at: Mutex::default(),
            planned: Mutex::default(),
            finished: Mutex::default(),
            diffs: Mutex::default(),
            contents: Mutex::new(Contents::new(directory)),
            running: Mutex::default(),
            unrecorded: Mutex::default(),
            max_bytes: MAX_SESSION_BYTES,
        }
    }

    /// Sets the message that the next changes follow.
    pub(crate) fn set_message(&self, at: Tip) {
        *lock(&self.at) = at;
    }

    /// Takes the diffs of a call.
    pub(crate) fn take_diffs(&self, call: &CallKey) -> Vec<FileDiff> {
        lock(&self.diffs).remove(call).unwrap_or_default()
    }

    /// Returns the record of a file that a call is about to write, to be stored together with the
    /// start of the call: a crash may leave the change, but never without its record. Blocks.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(crate) fn plan_write(
        &self,
        workspace: &Workspace,
        call: &CallKey,
        planned: &FileWrite,
    ) -> Result<Option<FileRecord>, LogError> {
        lock(&self.planned).remove(call);
        // A path that cannot be written fails in the call.
        let Ok((found, real)) = look(workspace, &planned.path) else { return Ok(None) };
        let Some((record, contents)) = record_of(workspace, &real, &found, &planned.bytes) else {
            return Ok(None);
        };
        let stored = self.file_record(record.clone(), contents)?;
        if stored.is_some() {
            lock(&self.planned).insert(call.clone(), record);
        }
        Ok(stored)
    }

    /// Writes a file and records the change. Returns whether the file is new. Blocks.
    pub(crate) fn write(
        &self,
        workspace: &Workspace,
        call: &CallKey,
        path: &str,
        bytes: &[u8],
    ) -> Result<bool, WriteError> {
        let (found, real) = look(workspace, path)?;
        if let Some((record, contents)) = record_of(workspace, &real, &found, bytes) {
            let planned = lock(&self.planned).remove(call);
            // Stored first: after a crash, undoing a change that was not made does nothing.
            if planned.as_ref() != Some(&record) {
                self.store(record, contents)?;
            }
        }
        let is_new = workspace.write(path, bytes)?;
        let diff = FileDiff::of_write(path, &found, bytes)
            .unwrap_or_else(|| FileDiff::unknown(path, super::DiffKind::Changed));
        self.add_diff(call, diff);
        Ok(is_new)
    }

    pub(super) fn add_diff(&self, call: &CallKey, diff: FileDiff) {
        lock(&self.diffs).entry(call.clone()).or_default().push(diff.limit());
    }

    /// Stores a record with the contents that it names.
    fn store(&self, record: Record, contents: Vec<Vec<u8>>) -> Result<(), LogError> {
        let Some(found) = self.file_record(record, contents)? else { return Ok(()) };
        let FileRecord { session, at, record, contents } = found;
        self.log.put_file_changes(&session, at, record, contents)
    }

    /// Returns a record in the form in which it is stored, with its contents as far as the session
    /// may have them; `None` if there is nothing to store.
    pub(super) fn file_record(
        &self,
        mut record: Record,
        mut contents: Vec<Vec<u8>>,
    ) -> Result<Option<FileRecord>, LogError> {
        let at = *lock(&self.at);
        if record.is_empty() || at.position() == 0 {
            return Ok(None);
        }
        self.report(Unrecorded::files(&record.changes));
        let size: u64 = contents.iter().map(|content| content.len() as u64).sum();
        if self.log.file_version_bytes(&self.session)? + size > self.max_bytes {
            contents.clear();
            record.changes.iter_mut().for_each(FileChange::drop_contents);
            self.report(Some(Unrecorded::Session { bytes: self.max_bytes }));
        }
        let record = serde_json::to_vec(&record)
            .map_err(|error| LogError::Refused(error.to_string().into()))?;
        Ok(Some(FileRecord { session: self.session.clone(), at, record, contents }))
    }

    /// Returns what a command changed. It stays here until [`Recorder::forget_finished`] says that
    /// it is stored.
    pub(crate) fn finished(&self, call: &CallKey) -> Option<FileRecord> {
        lock(&self.finished).get(call).cloned()
    }

    /// Forgets what a command changed, because it is stored.
    pub(crate) fn forget_finished(&self, call: &CallKey) {
        lock(&self.finished).remove(call);
    }

    /// Queues a notice about files that are not recorded, unless the user has seen it.
    pub(super) fn report(&self, found: impl IntoIterator<Item = Unrecorded>) {
        let (new, reported) = &mut *lock(&self.unrecorded);
        for found in found {
            // An equal notice may be about other files.
            let is_new = matches!(found, Unrecorded::Ignored { .. });
            if is_new || !new.contains(&found) && !reported.contains(&found) {
                new.push(found);
            }
        }
    }

    /// Returns what is not recorded and was not reported before.
    pub(crate) fn take_unrecorded(&self) -> Vec<Unrecorded> {
        let (new, reported) = &mut *lock(&self.unrecorded);
        reported.extend(new.iter().cloned());
        std::mem::take(new)
    }
}

/// Returns what is at a path, and the path without links.
fn look(workspace: &Workspace, path: &str) -> Result<(FileAt, PathBuf), SandboxError> {
    let real = workspace.resolve(path)?;
    let found = workspace.file_at(&real.display().to_string(), MAX_FILE_BYTES)?;
    Ok((found, real))
}

/// Returns the record of a file that is to hold `bytes`, with the contents that it names; `None` if
/// something other than a file is there.
fn record_of(
    workspace: &Workspace,
    real: &Path,
    found: &FileAt,
    bytes: &[u8],
) -> Option<(Record, Vec<Vec<u8>>)> {
    let before = state_of(found)?;
    let mode = before.as_ref().and_then(|before| before.mode);
    let mut after = Content::of_bytes(bytes, mode);
    after.unstored = bytes.len() as u64 > MAX_FILE_BYTES;
    let old = match found {
        FileAt::File { bytes, .. } => Some(bytes.clone()),
        _ => None,
    };
    let new = (!after.unstored).then(|| bytes.to_vec());
    let path = recorded_path(workspace, real);
    let change = FileChange { path, before, after: Some(after) };
    let directories = missing_parents(workspace, real);
    let record = Record { changes: vec![change], directories, ..Record::default() };
    Some((record, [old, new].into_iter().flatten().collect()))
}

/// Returns the directories that must be created for a file, as recorded paths.
fn missing_parents(workspace: &Workspace, file: &Path) -> Vec<String> {
    let is_missing = |path: &&Path| {
        matches!(workspace.file_at(&path.display().to_string(), 0), Ok(FileAt::Missing))
    };
    let parents = file.ancestors().skip(1).take_while(is_missing);
    parents.map(|path| recorded_path(workspace, path)).collect()
}

/// Returns a path for display: relative to the working directory if it is inside.
pub(super) fn shown(workspace: &Workspace, path: &Path) -> String {
    path.strip_prefix(workspace.working_directory()).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use waterline::message::Message;
    use waterline::{Counter, Method};
    use waterline_log::{Incoming, Session};

    use super::*;

    #[test]
    fn a_session_stores_no_more_versions_than_its_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let log = Log::open(path("log.db").to_str().unwrap()).unwrap();
        let tip = log.create(Session::new("s")).unwrap().tip;
        let counter = Counter::new(Method::Chars4, 1_000);
        let message = Incoming::of(&Message::user("go"), &counter);
        let tip = log.append("s", tip, vec![message]).unwrap().tip;
        let workspace = Workspace::open(&path("ws"), "s", &[]).unwrap();
        let mut recorder = Recorder::new(log.clone(), "s", directory.path().to_owned());
        recorder.max_bytes = 100;
        recorder.set_message(tip);
        let call = ("s".to_owned(), "c".to_owned());
        recorder.write(&workspace, &call, "a.txt", b"short").unwrap();
        assert_eq!(recorder.take_unrecorded(), []);
        for _ in 0..2 {
            recorder.write(&workspace, &call, "b.txt", &[b'x'; 100]).unwrap();
        }
        assert_eq!(recorder.take_unrecorded(), [Unrecorded::Session { bytes: 100 }], "once");
        assert!(log.file_version_bytes("s").unwrap() <= 100);
        recorder.write(&workspace, &call, "a.txt", b"small").unwrap();
        assert_eq!(log.stats().unwrap().file_versions, 2, "what fits is stored");
    }
}
