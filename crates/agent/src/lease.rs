//! One process at a time works in a session: two would run the same calls.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::error::AgentError;

/// The right to work in a session, given back when it is dropped or the process ends, however that ends.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The workspace itself: a file beside it could be left behind, one in it removed by a command.
    _locked: Option<File>,
}

impl Lease {
    /// Takes it, by the folder that the session works in.
    pub(crate) fn take(workspace: &Path, session: &str) -> Result<Self, AgentError> {
        // Where the file system has no locks, the log still refuses what would not fit.
        let Ok(folder) = File::open(workspace) else { return Ok(Self { _locked: None }) };
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => Err(AgentError::InUse { session: session.to_owned() }),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self { _locked: Some(folder) }),
        }
    }
}
