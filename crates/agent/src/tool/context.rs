//! The context of a tool call: the log, the session, the workspace and the agent.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use waterline_log::{Log, LogError, Session};
use waterline_memory::Memory;
use waterline_sandbox::Workspace;
use waterline_session::Recall;

use super::Failure;
use crate::changes::{CallKey, Recorder, WriteError};
use crate::event::Event;
use crate::observer::Observers;
use crate::state::{Local, State};

/// What a tool can ask its agent to do.
pub trait Host: Send + Sync {
    /// Runs a sub-agent on a task and returns its result. The sub-agent has a separate context:
    /// nothing else enters the caller's history. With `private` it works in a new, empty workspace.
    fn sub_agent<'a>(
        &'a self,
        task: &'a str,
        max_model_calls: u64,
        private: bool,
    ) -> BoxFuture<'a, Result<Value, Failure>>;

    /// Returns the description and the arguments of a tool.
    ///
    /// # Errors
    /// When the agent has no such tool.
    fn describe_tool(&self, name: &str) -> Result<String, Failure>;

    /// Checks that the agent may hand its work to a role, and returns the agent's current role.
    ///
    /// # Errors
    /// When the hand-off is not allowed.
    fn may_hand_off(&self, to: &str) -> Result<String, Failure>;
}

/// What a tool can use in addition to its arguments.
#[derive(Clone)]
pub struct ToolContext {
    /// The id of the call that runs the tool.
    pub call_id: String,
    /// The log that stores the session.
    pub log: Log,
    /// The session as it was before this step.
    pub session: Session,
    /// The agent state stored with the session.
    pub state: State,
    /// The part of the state that is never exported: it belongs to this user and this machine.
    pub local: Local,
    /// The session's workspace.
    pub workspace: Arc<Workspace>,
    /// Granted directories that this call may only read: the user could not be asked about changes
    /// there, or did not have to be, because the command only reads.
    pub read_only: Vec<PathBuf>,
    /// The search over the session's messages.
    pub recall: Arc<Recall>,
    /// The user's memory across sessions, if there is one.
    pub memory: Option<Arc<Memory>>,
    /// The agent that makes the call.
    pub host: Arc<dyn Host>,
    /// The position of the message that started the turn.
    pub turn: u64,
    /// Maximum length of a result in characters; a longer one becomes an artifact.
    pub result_chars: usize,
    /// Records changed files, so that they can be undone.
    pub(crate) recorder: Arc<Recorder>,
    /// The observers of the agent.
    pub(crate) observers: Observers,
}

impl ToolContext {
    /// Runs blocking work on one of the log's threads.
    ///
    /// # Errors
    /// The error of the log.
    pub async fn on_log<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Log) -> Result<T, LogError> + Send + 'static,
    ) -> Result<T, Failure> {
        self.log.handle().run(work).await.map_err(|error| Failure::new(error.to_string()))
    }

    /// Writes a file atomically and records the change, so that `/undo` reverts it. Returns whether
    /// the file is new. Blocks; see [`ToolContext::on_files`].
    ///
    /// # Errors
    /// When the path is outside or read-only, or the file cannot be written.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<bool, Failure> {
        let written = self.recorder.write(&self.workspace, &self.call_key(), path, bytes);
        written.map_err(|error| match error {
            WriteError::Sandbox(error) => error.into(),
            WriteError::Log(error) => Failure::new(error.to_string()),
        })
    }

    /// Reports the last line of output of a call that is still running. The model does not get it.
    pub fn report_output(&self, line: &str) {
        self.observers.emit(&Event::Output { id: self.call_id.clone(), line: line.to_owned() });
    }

    /// Returns what identifies the call among those of all agents.
    pub(super) fn call_key(&self) -> CallKey {
        (self.session.id.clone(), self.call_id.clone())
    }

    /// Runs blocking work on files on a separate thread.
    ///
    /// # Errors
    /// The error of the work.
    pub async fn on_files<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Workspace) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let workspace = Arc::clone(&self.workspace);
        let done = tokio::task::spawn_blocking(move || work(&workspace)).await;
        done.map_err(|_| Failure::new("The program is shutting down."))?
    }
}
