//! Which workspace a session works in.

use std::path::PathBuf;

use serde_json::Value;
use waterline_log::{Session, kept};
use waterline_sandbox::SandboxError;
use waterline_sandbox::workspace::{Workspace, directory_name, is_same};

use crate::config::AgentConfig;

/// Opens the workspace of a session. A sub-agent works in that of its parent; a fork starts with a copy of it.
pub(crate) fn open(session: &Session, config: &AgentConfig) -> Result<Workspace, SandboxError> {
    let stored = session.state.workspace_path.as_ref().map(PathBuf::from);
    let owner = session.state.other.get(kept::WORKSPACE_OF).and_then(Value::as_str).unwrap_or(&session.id);
    let own = config.workspaces.join(directory_name(&session.id));
    // Only below the directory of workspaces: a path in a session's state opens no other directory.
    let stored = stored.filter(|path| path.parent().is_some_and(|parent| is_same(parent, &config.workspaces)));
    match stored {
        // The name of the session's own directory says whose it is, whatever a command wrote into it.
        Some(path) if path != own && Workspace::owner(&path).is_some_and(|named| named != owner) => {
            let workspace = Workspace::open(&own, &session.id, &config.grants)?;
            workspace.copy_from(&path);
            Ok(workspace)
        }
        Some(path) => Workspace::open(&path, owner, &config.grants),
        None => Workspace::open(&own, owner, &config.grants),
    }
}
