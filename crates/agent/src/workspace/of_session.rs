//! Which folder a session works in.

use std::path::{Path, PathBuf};

use serde_json::Value;
use waterline_log::{Session, kept};

use super::Workspace;
use crate::equipment::Equipment;
use crate::error::AgentError;

/// The workspace of a session. A sub-agent works in that of its parent; a fork begins with a copy of it.
pub(crate) fn of_session(session: &Session, equipment: &Equipment) -> Result<Workspace, AgentError> {
    let stored = session.state.workspace_path.as_ref().map(PathBuf::from);
    let owner = session.state.other.get(kept::WORKSPACE_OF).and_then(Value::as_str).unwrap_or(&session.id);
    let own = equipment.workspaces.join(folder_name(&session.id));
    // Only what lies where workspaces are: a path in a session's state opens no other folder.
    let stored = stored.filter(|path| path.parent().is_some_and(|parent| is_same(parent, &equipment.workspaces)));
    match stored {
        // The name of the own folder says whose it is, whatever a command wrote into it.
        Some(path) if path != own && Workspace::owner(&path).is_some_and(|named| named != owner) => {
            let workspace = Workspace::open(&own, &session.id, &equipment.grants)?;
            workspace.copy_from(&path);
            Ok(workspace)
        }
        Some(path) => Workspace::open(&path, owner, &equipment.grants),
        None => Workspace::open(&own, owner, &equipment.grants),
    }
}

/// Whether two paths lead to the same folder.
pub(super) fn is_same(left: &Path, right: &Path) -> bool {
    left == right || left.canonicalize().is_ok_and(|left| right.canonicalize().is_ok_and(|right| left == right))
}

/// A folder's name for an id that somebody chose.
pub(super) fn folder_name(id: &str) -> String {
    let plain: String =
        id.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).take(80).collect();
    let is_same = plain == id && !plain.starts_with('.');
    // Two ids must not share a folder because they look alike.
    if is_same {
        plain
    } else {
        format!(
            "{}-{}",
            plain.trim_start_matches('.'),
            blake3::hash(id.as_bytes()).to_hex().chars().take(8).collect::<String>()
        )
    }
}
