//! The context of a tool call: the log, the session, the workspace and the agent.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use waterline_log::{Log, LogError, Session};
use waterline_sandbox::Workspace;

use super::Failure;
use crate::state::{Local, State};

/// What a tool can ask its agent to do.
pub trait Host: Send + Sync {
    /// Runs a sub-agent on a task and returns its result. The sub-agent has a separate context:
    /// nothing else enters the caller's history.
    fn sub_agent<'a>(
        &'a self,
        task: &'a str,
        max_loops: u64,
    ) -> BoxFuture<'a, Result<Value, Failure>>;

    /// Checks that the agent may hand its work to a role, and returns the agent's current role.
    ///
    /// # Errors
    /// When the hand-off is not allowed.
    fn may_hand_off(&self, to: &str) -> Result<String, Failure>;
}

/// What a tool can use in addition to its arguments.
#[derive(Clone)]
pub struct ToolContext {
    /// The id of the call.
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
    /// The agent that makes the call.
    pub host: Arc<dyn Host>,
    /// The position of the message that started the turn.
    pub turn: u64,
    /// Maximum length of a result in characters; a longer one becomes an artifact.
    pub result_chars: usize,
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
