//! Removes a session that this chat created and in which the user sent no message.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use waterline_agent::expiry;
use waterline_log::{EraseTarget, Log, LogError};

/// The session that is removed unless the user sends a message. Clones share it.
#[derive(Clone)]
pub(super) struct EmptySession {
    id: Arc<Mutex<Option<String>>>,
    log: Log,
    /// The directory that contains the workspaces.
    workspaces: PathBuf,
}

impl EmptySession {
    pub(super) fn new(log: Log, workspaces: PathBuf) -> Self {
        Self { id: Arc::default(), log, workspaces }
    }

    /// Sets the session; `None` if nothing is to be removed.
    pub(super) fn set(&self, id: Option<String>) {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }

    /// Returns the id of the session.
    pub(super) fn id(&self) -> Option<String> {
        self.id.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Removes the session with its workspace, if it still has no messages. A failure leaves an
    /// empty session behind, which does no harm. Blocks.
    pub(super) fn remove(&self) {
        let id = self.id.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(id) = id
            && let Err(error) = self.remove_session(&id)
        {
            tracing::warn!(target: "waterline::cleanup", %error, "empty session kept");
        }
    }

    fn remove_session(&self, id: &str) -> Result<(), LogError> {
        // Another process may have used it meanwhile.
        if self.log.session(id)?.has_messages() {
            return Ok(());
        }
        remove(&self.log, id, self.workspaces.clone())
    }
}

/// Removes a session and its workspace, except results in it. Blocks.
pub(super) fn remove(log: &Log, id: &str, workspaces: PathBuf) -> Result<(), LogError> {
    // The owner of a workspace is known only as long as its session exists.
    let own = expiry::of(log, &[id.to_owned()], workspaces)?.keeping_outputs();
    log.erase(&EraseTarget::Session(id.to_owned()))?;
    drop(own.remove());
    Ok(())
}
