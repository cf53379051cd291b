//! Finds and opens the workspace of a session.

use std::path::PathBuf;

use waterline_log::Session;
use waterline_sandbox::workspace::{Workspace, directory_name, is_same};

use crate::config::AgentConfig;
use crate::error::AgentError;
use crate::state::Local;

/// Opens the workspace of a session, and moves to the working directory if there is one.
pub(super) fn open(session: &Session, config: &AgentConfig) -> Result<Workspace, AgentError> {
    let workspace = open_own(session, config)?;
    match &config.directory {
        Some(directory) => Ok(workspace.work_in(&directory.path)?),
        None => Ok(workspace),
    }
}

/// Opens the workspace of a session. A sub-agent works in the workspace of its parent; a fork
/// starts with a copy of it.
fn open_own(session: &Session, config: &AgentConfig) -> Result<Workspace, AgentError> {
    let grants = config.all_grants();
    let stored = session.workspace.as_ref().map(PathBuf::from);
    let owner = Local::of(session)?.workspace_of.unwrap_or_else(|| session.id.clone());
    let own = config.workspaces.join(directory_name(&session.id));
    // Only directly below the workspaces directory: a stored path must not open any other one.
    let stored = stored
        .filter(|path| path.parent().is_some_and(|parent| is_same(parent, &config.workspaces)));
    match stored {
        // The session's own directory is recognized by its path, because a command can overwrite
        // the owner that is recorded in it.
        Some(path)
            if path != own && Workspace::owner(&path).is_some_and(|named| named != owner) =>
        {
            let workspace = Workspace::open(&own, &session.id, &grants)?;
            workspace.copy_from(&path);
            Ok(workspace)
        }
        Some(path) => Ok(Workspace::open(&path, &owner, &grants)?),
        None => Ok(Workspace::open(&own, &owner, &grants)?),
    }
}
