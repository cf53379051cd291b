//! What a tool can reach in addition to its arguments.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use waterline_log::{Log, LogError, Session};
use waterline_sandbox::Workspace;

use super::Failure;
use crate::state::{Local, State};

/// What a tool can have its agent do.
pub trait Host: Send + Sync {
    /// Has a sub-agent work on a task, and returns its result. Its context is its own: nothing else
    /// enters the caller's history.
    fn sub_agent<'a>(
        &'a self,
        task: &'a str,
        max_loops: u64,
    ) -> BoxFuture<'a, Result<Value, Failure>>;

    /// Checks that the agent may hand its work to a role, and returns the role that the agent has
    /// itself.
    ///
    /// # Errors
    /// When it may not.
    fn may_hand_off(&self, to: &str) -> Result<String, Failure>;
}

/// What a tool can reach in addition to its arguments.
#[derive(Clone)]
pub struct ToolContext {
    /// The id of the call.
    pub call_id: String,
    /// The log.
    pub log: Log,
    /// The session as it was before this step.
    pub session: Session,
    /// What the agent keeps with it.
    pub state: State,
    /// What this user and this machine know of it.
    pub local: Local,
    /// The directory of the session.
    pub workspace: Arc<Workspace>,
    /// The agent that makes the call.
    pub host: Arc<dyn Host>,
    /// The position of the message that started the turn.
    pub turn: u64,
    /// How many characters of the result are sent; a longer one becomes an artifact.
    pub result_chars: usize,
}

impl ToolContext {
    /// Runs work on the log, on one of its own threads.
    ///
    /// # Errors
    /// What the log says.
    pub async fn on_log<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Log) -> Result<T, LogError> + Send + 'static,
    ) -> Result<T, Failure> {
        self.log.handle().run(work).await.map_err(|error| Failure::new(error.to_string()))
    }

    /// Runs work on files, on a thread that may block.
    ///
    /// # Errors
    /// What the work says.
    pub async fn on_files<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Workspace) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let workspace = Arc::clone(&self.workspace);
        let done = tokio::task::spawn_blocking(move || work(&workspace)).await;
        done.map_err(|_| Failure::new("the program is ending"))?
    }
}
