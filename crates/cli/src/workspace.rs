//! Folders that belong to sessions. One is known by a file in it that names its session; a folder without a readable
//! one is never touched.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use waterline_agent::workspace::FILE;
use waterline_log::{Filter, Log, Session};

use crate::show::plain;

/// The folder of a session.
#[derive(Debug)]
pub struct Workspace {
    /// Where it is.
    pub path: String,
    session: String,
}

/// The workspaces of sessions, as far as they are there.
pub fn of(log: &Log, sessions: &[String]) -> Result<Vec<Workspace>> {
    let mut found = Vec::new();
    for id in sessions {
        let path = log.session(id)?.state.workspace_path;
        found.extend(path.map(|path| Workspace { path, session: id.clone() }).filter(Workspace::is_there));
    }
    Ok(found)
}

/// The workspaces of sessions that nobody used since a time. One that another session works in, which was used, is none of them, and
/// neither is that of `own`.
pub fn idle(log: &Log, own: &str, since: i64) -> Result<Vec<Workspace>> {
    let (idle, used): (Vec<Session>, Vec<Session>) =
        log.sessions(&Filter::default())?.into_iter().partition(|session| session.active < since && session.id != own);
    let in_use: Vec<String> = used.into_iter().filter_map(|session| session.state.workspace_path).collect();
    let ids: Vec<String> = idle.into_iter().map(|session| session.id).collect();
    Ok(of(log, &ids)?.into_iter().filter(|workspace| !in_use.contains(&workspace.path)).collect())
}

/// Removes workspaces with everything in them; gives those that stayed, each with a reason.
pub fn remove_all(folders: &[Workspace]) -> Vec<String> {
    let remove = |folder: &Workspace| folder.remove().err().map(|error| format!("{}: {error:#}", folder.path));
    folders.iter().filter_map(remove).collect()
}

/// Says which workspaces went, or would go.
pub fn write(out: &mut impl Write, folders: &[Workspace], kept: &[String], done: bool) -> Result<()> {
    for folder in folders {
        writeln!(out, "{} {}", if done { "workspace" } else { "would remove workspace" }, plain(&folder.path))?;
    }
    for reason in kept {
        writeln!(out, "kept {}", plain(reason))?;
    }
    Ok(())
}

impl Workspace {
    /// Whether the folder is the session's.
    fn is_there(&self) -> bool {
        let folder = Path::new(&self.path);
        // A link is not followed: what it leads to may be anybody's.
        let is_folder = std::fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir());
        let text = if is_folder { std::fs::read_to_string(folder.join(FILE)).ok() } else { None };
        let named: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
        named.is_some_and(|value| value.get("session").and_then(Value::as_str) == Some(&self.session))
    }

    fn remove(&self) -> Result<()> {
        if !self.is_there() {
            bail!("it is not the workspace of session {}", self.session);
        }
        std::fs::remove_dir_all(&self.path).with_context(|| format!("cannot remove {}", self.path))
    }
}
