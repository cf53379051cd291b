//! Moves files with the session: when it goes back, forward or to another branch, the files that
//! its turns changed follow.

use std::sync::Arc;

use serde_json::Value;
use waterline::message::ToolCall;
use waterline_log::{FileRecord, Log};
use waterline_session::SessionError;

use super::Agent;
use crate::changes::{FileDiff, MovedFile, Moves, apply_moves, plan_moves};
use crate::error::AgentError;
use crate::event::Event;
use crate::notice::Notice;
use crate::state::{Local, State};
use crate::tool::Capability;

impl Agent {
    /// Prepares a move of the session: call this before its tip is moved in the log, open the
    /// session again, and call [`Agent::move_files`]. If the process ends in between, the next turn
    /// moves the files.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn begin_move(&mut self) -> Result<(), AgentError> {
        self.record_cancelled().await?;
        if self.local_state()?.files_at.is_some() {
            return Ok(());
        }
        let session = self.live.session().id.clone();
        let newest = self.live.on_log(move |log| log.newest_id(&session)).await?;
        self.change(move |_: &mut State, local: &mut Local| local.files_at = newest).await
    }

    /// Returns the conflicts of a move: what it would do to files that someone else changed after
    /// the session did. Those changes would be lost.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn file_conflicts(&self) -> Result<Vec<FileDiff>, AgentError> {
        let moves = self.file_moves().await?;
        let workspace = Arc::clone(&self.workspace);
        let find = move |log: &Log| {
            let conflicts = moves.files.iter().filter(|found| found.conflicts(&workspace));
            Ok(conflicts.map(|found| found.diff(log, &workspace)).collect())
        };
        Ok(self.live.on_log(find).await?)
    }

    /// Returns the files that [`Agent::move_files`] cannot change: they are outside the directories
    /// of this agent, or in one that is granted for reading only.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn unreachable_files(&self) -> Result<Vec<String>, AgentError> {
        let moves = self.file_moves().await?;
        let workspace = Arc::clone(&self.workspace);
        let found = tokio::task::spawn_blocking(move || {
            let found = moves.files.iter().filter(|found| !found.is_reachable(&workspace));
            found.map(|found| found.path.clone()).collect()
        });
        Ok(found.await.map_err(|_| SessionError::Ending)?)
    }

    /// Moves the files after the session was moved, and returns what happened to each. A file that
    /// someone else changed meanwhile stays unchanged unless `overwrite` has its path. After an
    /// interruption it can be called again.
    ///
    /// # Errors
    /// When the log cannot be used, or another process works in the session.
    pub async fn move_files(
        &mut self,
        overwrite: Vec<String>,
    ) -> Result<Vec<MovedFile>, AgentError> {
        let _lease = self.lock_session().await?;
        self.apply_file_moves(overwrite).await
    }

    async fn apply_file_moves(
        &mut self,
        overwrite: Vec<String>,
    ) -> Result<Vec<MovedFile>, AgentError> {
        if self.local_state()?.files_at.is_none() {
            return Ok(Vec::new());
        }
        let moves = self.file_moves().await?;
        let workspace = Arc::clone(&self.workspace);
        let apply = move |log: &Log| {
            let overwrites = |path: &str| overwrite.iter().any(|own| own == path);
            Ok(apply_moves(log, &workspace, &moves, overwrites))
        };
        let moved = self.live.on_log(apply).await?;
        self.change(|_, local| local.files_at = None).await?;
        Ok(moved)
    }

    /// Stores what an interrupted turn changed, and restores the files that an undo or redo did not
    /// restore before a crash interrupted it. Files that were changed since stay as they are,
    /// because no user can be asked.
    pub(super) async fn finish_file_changes(&mut self) -> Result<(), AgentError> {
        self.record_cancelled().await?;
        let moved = self.apply_file_moves(Vec::new()).await?;
        moved.into_iter().for_each(|file| self.emit(&Event::Notice(Notice::Moved(file))));
        Ok(())
    }

    async fn file_moves(&self) -> Result<Moves, AgentError> {
        let Some(from) = self.local_state()?.files_at else { return Ok(Moves::default()) };
        let session = self.live.session().id.clone();
        Ok(self.live.on_log(move |log| plan_moves(log, &session, from)).await?)
    }

    /// Returns the records of the files that calls are about to write.
    pub(super) async fn plan_writes(
        &self,
        calls: Vec<ToolCall>,
    ) -> Result<Vec<FileRecord>, AgentError> {
        let plan = |call: ToolCall| {
            let tool = self.config.toolbox.find(&call.name)?;
            let is_write = tool.capability() == Capability::Write;
            is_write.then(|| (Arc::clone(tool), self.call_key(&call), call.arguments))
        };
        let calls: Vec<_> = calls.into_iter().filter_map(plan).collect();
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let recorder = Arc::clone(&self.shared.recorder);
        let workspace = Arc::clone(&self.workspace);
        let plan = move |_: &Log| -> waterline_log::Result<Vec<FileRecord>> {
            let mut records = Vec::new();
            for (tool, key, arguments) in calls {
                let arguments = serde_json::from_str(&arguments).unwrap_or_default();
                if let Some(write) = tool.planned_write(&arguments, &workspace) {
                    records.extend(recorder.plan_write(&workspace, &key, &write)?);
                }
            }
            Ok(records)
        };
        Ok(self.live.on_log(plan).await?)
    }

    /// Stores the changes of commands whose results are not stored, because the user stopped them
    /// or the log failed.
    pub(super) async fn record_cancelled(&self) -> Result<(), AgentError> {
        // Commands of other sub-agents may still be running.
        if self.depth > 0 || !self.shared.recorder.has_unstored() {
            return Ok(());
        }
        let recorder = Arc::clone(&self.shared.recorder);
        let workspace = Arc::clone(&self.workspace);
        Ok(self.live.on_log(move |_| recorder.record_changes(&workspace)).await?)
    }

    /// Reports file changes that cannot be undone.
    pub(super) fn report_unrecorded(&self) {
        for found in self.shared.recorder.take_unrecorded() {
            self.emit(&Event::Notice(Notice::Unrecorded(found)));
        }
    }

    /// Returns the change that a call would make to a file.
    pub(super) async fn preview(&self, call: &ToolCall) -> Option<FileDiff> {
        let tool = Arc::clone(self.config.toolbox.find(&call.name)?);
        let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
        let workspace = Arc::clone(&self.workspace);
        let preview = tokio::task::spawn_blocking(move || {
            FileDiff::of_planned(&workspace, &tool.planned_write(&arguments, &workspace)?)
        });
        preview.await.ok().flatten()
    }
}
