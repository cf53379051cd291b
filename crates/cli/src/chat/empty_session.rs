//! Removes sessions in which the user sent no message: that of this chat, and those of chats that
//! were killed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use waterline_agent::expiry;
use waterline_log::{EraseTarget, Filter, Log, LogError, Relation};
use waterline_sandbox::workspace::{FILE, directory_name};

/// A session that was created more recently, in milliseconds, may not be locked yet.
const GRACE: i64 = 60_000;

/// The session that is removed unless the user sends a message. Clones share it.
#[derive(Clone)]
pub(super) struct EmptySession {
    held: Arc<Mutex<Option<Held>>>,
    log: Log,
    /// The directory that contains the workspaces.
    workspaces: PathBuf,
}

/// An empty session that this process has open.
struct Held {
    id: String,
    /// The locked file of its workspace, which tells other chats that the session is in use. The
    /// lock of the workspace itself is for turns.
    _locked: Option<File>,
}

impl EmptySession {
    pub(super) fn new(log: Log, workspaces: PathBuf) -> Self {
        Self { held: Arc::default(), log, workspaces }
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the session; `None` if nothing is to be removed.
    pub(super) fn set(&self, id: Option<String>) {
        *self.held() = id.map(|id| {
            let file = File::open(lock_file(&self.workspaces, &id)).ok();
            Held { id, _locked: file.filter(|file| file.try_lock_shared().is_ok()) }
        });
    }

    /// Returns the id of the session.
    pub(super) fn id(&self) -> Option<String> {
        self.held().as_ref().map(|held| held.id.clone())
    }

    /// Removes the session with its workspace, if it still has no messages. A failure leaves an
    /// empty session behind, which does no harm. Blocks.
    pub(super) fn remove(&self) {
        let held = self.held().take();
        if let Some(Held { id, .. }) = held
            && let Err(error) = remove_blank(&self.log, &id, self.workspaces.clone())
        {
            tracing::warn!(target: "waterline::cleanup", %error, "empty session kept");
        }
    }
}

/// Removes the sessions that killed chats left without a message. One that another chat has open
/// is locked. Sessions whose workspace is on another machine are kept. Blocks.
pub(super) fn remove_abandoned(log: &Log, own: &str, workspaces: &Path) -> Result<(), LogError> {
    let filter = Filter { idle_since: Some(log.now() - GRACE), ..Filter::default() };
    for session in log.sessions(&filter)? {
        if session.id == own || !session.is_blank() || session.relation != Relation::Main {
            continue;
        }
        let Ok(file) = File::open(lock_file(workspaces, &session.id)) else { continue };
        if file.try_lock().is_ok() {
            remove_blank(log, &session.id, workspaces.to_owned())?;
        }
    }
    Ok(())
}

/// Returns the file that is locked while a chat has an empty session open.
fn lock_file(workspaces: &Path, session: &str) -> PathBuf {
    workspaces.join(directory_name(session)).join(FILE)
}

/// Removes a session without a message and its workspace, except results in it. Blocks.
fn remove_blank(log: &Log, id: &str, workspaces: PathBuf) -> Result<(), LogError> {
    // The owner of a workspace is known only as long as its session exists.
    let own = expiry::of(log, &[id.to_owned()], workspaces)?.keeping_outputs();
    // Another process may have used it meanwhile.
    if log.erase_blank(id)? {
        drop(own.remove());
    }
    Ok(())
}

/// Removes a session and its workspace, except results in it. Blocks.
pub(super) fn remove(log: &Log, id: &str, workspaces: PathBuf) -> Result<(), LogError> {
    let own = expiry::of(log, &[id.to_owned()], workspaces)?.keeping_outputs();
    log.erase(&EraseTarget::Session(id.to_owned()))?;
    drop(own.remove());
    Ok(())
}
