//! What a tool can reach beside its arguments.

use std::sync::Arc;

use waterline_log::{Log, LogError, Session};

use super::Failure;
use crate::crew::Crew;
use crate::person::Person;
use crate::state::{Local, State};
use waterline_sandbox::workspace::Workspace;

/// Where a tool is run.
#[derive(Clone)]
pub struct Scene {
    /// The call it answers.
    pub call_id: String,
    /// The log.
    pub log: Log,
    /// The session as it was before this step.
    pub session: Session,
    /// What the agent keeps with it.
    pub state: State,
    /// What this user and this machine know of it.
    pub local: Local,
    /// Its folder.
    pub workspace: Arc<Workspace>,
    /// Who can be started for a task.
    pub crew: Arc<Crew>,
    /// Who watches, and answers.
    pub person: Arc<dyn Person>,
    /// How many agents stand above this one.
    pub depth: usize,
    /// The place of the message that began the running turn.
    pub turn: u64,
    /// How many characters of its words are sent; longer ones become an artifact.
    pub result_chars: usize,
}

impl Scene {
    /// Work on the log, on one of its own threads.
    ///
    /// # Errors
    /// When the log says so.
    pub async fn on_log<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Log) -> Result<T, LogError> + Send + 'static,
    ) -> Result<T, Failure> {
        self.log.handle().run(work).await.map_err(|error| Failure::new(error.to_string()))
    }

    /// Work on files, on a thread where blocking is allowed.
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
