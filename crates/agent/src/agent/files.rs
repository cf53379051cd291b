//! Moves files with the session: when it goes back, forward or to another branch, the files that
//! its turns changed follow.

use std::sync::Arc;

use serde_json::Value;
use waterline::message::ToolCall;
use waterline_log::Id;
use waterline_session::SessionError;

use super::Agent;
use crate::changes::{FileDiff, MovedFile, Moves, apply_moves, plan_moves};
use crate::error::AgentError;
use crate::event::Event;
use crate::notice::Notice;
use crate::state::{Local, State};

impl Agent {
    /// Prepares a move of the session: call this before its tip is moved in the log, open the
    /// session again, and call [`Agent::move_files`]. If the process ends in between, the next turn
    /// moves the files.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn begin_move(&mut self) -> Result<(), AgentError> {
        if self.local()?.files_at.is_some() {
            return Ok(());
        }
        let session = self.live.session().id.clone();
        let newest = self.live.on_log(move |log| log.newest_id(&session)).await?;
        let at = newest.map(|id| id.to_string());
        self.change(move |_: &mut State, local: &mut Local| local.files_at.clone_from(&at)).await
    }

    /// Returns the files that someone else changed since the session did, so that moving them would
    /// overwrite that change.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn file_conflicts(&self) -> Result<Vec<String>, AgentError> {
        let moves = self.file_moves().await?;
        let workspace = Arc::clone(&self.workspace);
        let found = tokio::task::spawn_blocking(move || {
            let conflicts = moves.files.iter().filter(|found| found.conflicts(&workspace));
            conflicts.map(|found| found.path.clone()).collect()
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
        let _lease = self.lease().await?;
        self.apply_file_moves(overwrite).await
    }

    async fn apply_file_moves(
        &mut self,
        overwrite: Vec<String>,
    ) -> Result<Vec<MovedFile>, AgentError> {
        if self.local()?.files_at.is_none() {
            return Ok(Vec::new());
        }
        let moves = self.file_moves().await?;
        let workspace = Arc::clone(&self.workspace);
        let log = self.live.log().clone();
        let moved = tokio::task::spawn_blocking(move || {
            apply_moves(&log, &workspace, &moves, |path| overwrite.iter().any(|own| own == path))
        });
        let moved = moved.await.map_err(|_| SessionError::Ending)?;
        self.change(|_, local| local.files_at = None).await?;
        Ok(moved)
    }

    /// Finishes a move that was interrupted. No one is asked: conflicting files stay as they are.
    pub(super) async fn finish_move(&mut self) -> Result<(), AgentError> {
        let moved = self.apply_file_moves(Vec::new()).await?;
        moved.into_iter().for_each(|file| self.emit(&Event::Notice(Notice::Moved(file))));
        Ok(())
    }

    async fn file_moves(&self) -> Result<Moves, AgentError> {
        let from = self.local()?.files_at.and_then(|id| id.parse::<Id>().ok());
        let Some(from) = from else { return Ok(Moves::default()) };
        let session = self.live.session().id.clone();
        Ok(self.live.on_log(move |log| plan_moves(log, &session, from)).await?)
    }

    /// Records what a command changed before the user stopped it.
    pub(super) async fn record_cancelled(&self) -> Result<(), AgentError> {
        let recorder = Arc::clone(&self.shared.recorder);
        let workspace = Arc::clone(&self.workspace);
        let settled = tokio::task::spawn_blocking(move || recorder.settle(&workspace)).await;
        Ok(settled.map_err(|_| SessionError::Ending)??)
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
        let preview = tokio::task::spawn_blocking(move || tool.preview(&arguments, &workspace));
        preview.await.ok().flatten()
    }
}
