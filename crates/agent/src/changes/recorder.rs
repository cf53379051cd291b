//! Records the changes of an agent and its sub-agents in the log.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use waterline_log::{Log, LogError, Tip};
use waterline_sandbox::SandboxError;
use waterline_sandbox::workspace::{FileAt, Workspace};

use super::snapshot::{Contents, Snapshot};
use super::{Content, FileChange, FileDiff, MAX_FILE_BYTES, recorded_path, state_of};

/// A record as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) changes: Vec<FileChange>,
}

/// Why a file was not written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// The log failed.
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
    log: Log,
    session: String,
    /// The message that the next change follows.
    at: Mutex<Tip>,
    /// The diffs of each call, until its result is stored.
    diffs: Mutex<HashMap<CallKey, Vec<FileDiff>>>,
    /// The files that commands may change.
    pub(super) contents: Mutex<Contents>,
    /// The snapshots of running commands. One stays here if its command is cancelled.
    pub(super) running: Mutex<HashMap<CallKey, Snapshot>>,
    /// Directories that are not covered, until the user is informed; and those that were reported.
    pub(super) uncovered: Mutex<(Vec<PathBuf>, Vec<PathBuf>)>,
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
            diffs: Mutex::default(),
            contents: Mutex::new(Contents::new(directory)),
            running: Mutex::default(),
            uncovered: Mutex::default(),
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

    /// Writes a file and records the change. Returns whether the file is new. Blocks.
    pub(crate) fn write(
        &self,
        workspace: &Workspace,
        call: &CallKey,
        path: &str,
        bytes: &[u8],
    ) -> Result<bool, WriteError> {
        let real = workspace.resolve(path)?;
        let found = workspace.file_at(&real.display().to_string(), MAX_FILE_BYTES)?;
        // Stored first: after a crash, undoing a change that was not made does nothing.
        if let Some(before) = state_of(&found) {
            let mode = before.as_ref().and_then(|before| before.mode);
            let mut after = Content::of_bytes(bytes, mode);
            after.unstored = bytes.len() as u64 > MAX_FILE_BYTES;
            let old = match &found {
                FileAt::File { bytes, .. } => Some(bytes.clone()),
                _ => None,
            };
            let new = (!after.unstored).then(|| bytes.to_vec());
            let change =
                FileChange { path: recorded_path(workspace, &real), before, after: Some(after) };
            self.store(vec![change], [old, new].into_iter().flatten().collect())?;
        }
        let is_new = workspace.write(path, bytes)?;
        let diff = match &found {
            FileAt::Missing => FileDiff::new(path, None, Some(bytes)),
            FileAt::File { bytes: old, .. } => FileDiff::new(path, Some(old), Some(bytes)),
            _ => FileDiff::unknown(path, super::DiffKind::Changed),
        };
        self.add_diff(call, diff);
        Ok(is_new)
    }

    pub(super) fn add_diff(&self, call: &CallKey, diff: FileDiff) {
        lock(&self.diffs).entry(call.clone()).or_default().push(diff.limit());
    }

    /// Stores a record with the contents that it names.
    pub(super) fn store(
        &self,
        changes: Vec<FileChange>,
        contents: Vec<Vec<u8>>,
    ) -> Result<(), LogError> {
        let at = *lock(&self.at);
        if changes.is_empty() || at.position() == 0 {
            return Ok(());
        }
        let record = serde_json::to_vec(&Record { changes })
            .map_err(|error| LogError::Refused(error.to_string()))?;
        self.log.put_file_changes(&self.session, at, record, contents)
    }
}

/// Returns a path for display: relative to the workspace if it is inside.
pub(super) fn shown(workspace: &Workspace, path: &Path) -> String {
    recorded_path(workspace, path)
}
