//! Records what a command changed, by comparing the files before and after it.

use waterline_log::{FileRecord, LogError};
use waterline_sandbox::workspace::Workspace;

use super::recorder::{CallKey, Record, Recorder, lock, shown};
use super::snapshot::Compared;
use super::unrecorded::Unrecorded;
use super::{DiffKind, FileChange, FileDiff, recorded_path};

/// Maximum number of diffs of one command that are shown.
const MAX_DIFFS: usize = 50;

impl Recorder {
    /// Takes a snapshot before a command. Blocks.
    pub(crate) fn before_command(&self, workspace: &Workspace, call: &CallKey) {
        let is_only = lock(&self.running).is_empty();
        let snapshot = lock(&self.contents).take(workspace, is_only);
        self.report(snapshot.too_large.iter().cloned().map(Unrecorded::Directory));
        lock(&self.running).insert(call.clone(), snapshot);
    }

    /// Returns whether a command changed something that is not stored, or may have.
    pub(crate) fn has_unstored(&self) -> bool {
        !lock(&self.running).is_empty() || !lock(&self.finished).is_empty()
    }

    /// Records what changed since the snapshot. It is stored with the result of the command.
    /// Blocks.
    ///
    /// # Errors
    /// When the log cannot be read.
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
        let lost = found.lost.iter().map(|lost| recorded_path(workspace, &lost.path));
        let repositories = found.repositories.iter().map(|path| recorded_path(workspace, path));
        record.unrecorded = lost.chain(repositories).collect();
        record.links = found.links.iter().map(|path| recorded_path(workspace, path)).collect();
        self.report((!found.lost.is_empty()).then(|| Unrecorded::Ignored {
            directories: found.lost.iter().map(|lost| shown(workspace, &lost.path)).collect(),
            count: found.lost.iter().map(|lost| lost.count).sum(),
            or_more: found.lost.iter().any(|lost| lost.or_more),
        }));
        if let Some(record) = self.file_record(record, contents)? {
            lock(&self.finished).insert(call.clone(), record);
        }
        Ok(())
    }

    /// Stores what commands changed whose results are not stored: the user stopped them, or the log
    /// failed. Blocks.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub(crate) fn record_changes(&self, workspace: &Workspace) -> Result<(), LogError> {
        let calls: Vec<CallKey> = lock(&self.running).keys().cloned().collect();
        for call in calls {
            self.after_command(workspace, &call)?;
            self.take_diffs(&call);
        }
        let finished = lock(&self.finished).clone();
        for (call, FileRecord { session, at, record, contents }) in finished {
            self.log.put_file_changes(&session, at, record, contents)?;
            self.forget_finished(&call);
        }
        Ok(())
    }
}
