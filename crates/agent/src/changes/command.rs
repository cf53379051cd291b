//! Records what a command changed, by comparing the files before and after it.

use waterline_log::LogError;
use waterline_sandbox::workspace::Workspace;

use super::recorder::{CallKey, Record, Recorder, lock, shown};
use super::snapshot::Compared;
use super::unrecorded::Unrecorded;
use super::{DiffKind, FileChange, FileDiff, recorded_path};

/// The most diffs of one command that are shown.
const MAX_DIFFS: usize = 50;

impl Recorder {
    /// Takes a snapshot before a command. Blocks.
    pub(crate) fn before_command(&self, workspace: &Workspace, call: &CallKey) {
        let is_only = lock(&self.running).is_empty();
        let snapshot = lock(&self.contents).take(workspace, is_only);
        self.report(snapshot.too_large.iter().cloned().map(Unrecorded::Directory));
        lock(&self.running).insert(call.clone(), snapshot);
    }

    /// Records what changed since the snapshot. Blocks.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub(crate) fn after_command(
        &self,
        workspace: &Workspace,
        call: &CallKey,
    ) -> Result<(), LogError> {
        let Some(before) = lock(&self.running).remove(call) else { return Ok(()) };
        let found = lock(&self.contents).compare(workspace, &before);
        let mut record = Record::default();
        let mut contents = Vec::new();
        for Compared { path, before, after, old, new } in found.files {
            let diff = match (&old, &new) {
                (None, None) => FileDiff::unknown(
                    &shown(workspace, &path),
                    match (&before, &after) {
                        (None, _) => DiffKind::Created,
                        (_, None) => DiffKind::Deleted,
                        _ => DiffKind::Changed,
                    },
                ),
                _ => FileDiff::new(&shown(workspace, &path), old.as_deref(), new.as_deref()),
            };
            if record.changes.len() < MAX_DIFFS {
                self.add_diff(call, diff);
            }
            let path = recorded_path(workspace, &path);
            record.changes.push(FileChange { path, before, after });
            contents.extend([old, new].into_iter().flatten());
        }
        let directories = found.directories.iter();
        record.directories = directories.map(|path| recorded_path(workspace, path)).collect();
        self.store(record, contents)
    }

    /// Records what cancelled commands changed. Blocks.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub(crate) fn settle(&self, workspace: &Workspace) -> Result<(), LogError> {
        let calls: Vec<CallKey> = lock(&self.running).keys().cloned().collect();
        for call in calls {
            self.after_command(workspace, &call)?;
            self.take_diffs(&call);
        }
        Ok(())
    }
}
