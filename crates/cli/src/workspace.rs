//! Folders that belong to sessions. One is known by a file in it that names its session; a folder without a readable
//! one is never touched.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The file that makes a folder a workspace.
const FILE: &str = "workspace.json";

/// Whether a folder is the workspace of a session.
pub fn is_of(path: &str, session: &str) -> bool {
    let folder = Path::new(path);
    // A link is not followed: what it leads to may be anybody's.
    let is_folder = std::fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir());
    let text = if is_folder { std::fs::read_to_string(folder.join(FILE)).ok() } else { None };
    let named: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
    named.is_some_and(|value| value.get("session").and_then(Value::as_str) == Some(session))
}

/// Removes the workspace of a session with everything in it.
pub fn remove(path: &str, session: &str) -> Result<()> {
    if !is_of(path, session) {
        bail!("it is not the workspace of session {session}");
    }
    std::fs::remove_dir_all(path).with_context(|| format!("cannot remove {path}"))
}
