//! Folders that belong to sessions, and when they are old. One is known by a file in it that names its session; a folder
//! without a readable one is never touched.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use waterline_agent::small_file;
use waterline_agent::workspace::FILE;
use waterline_log::{Filter, Log, Session};

use crate::show::plain;

/// Days after which a workspace is old if the config does not say.
pub const WORKSPACE_DAYS: u64 = 7;

/// Days after which a session is old if the config does not say, for those who ask for old ones to go.
pub const SESSION_DAYS: u64 = 30;

/// A day in milliseconds.
const DAY: i64 = 86_400_000;

/// The time so many days ago, as the log counts.
pub fn before(log: &Log, days: u64) -> i64 {
    let back = i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY);
    log.now().saturating_sub(back)
}

/// The folder of a session.
#[derive(Debug)]
pub struct Workspace {
    /// Where it is.
    pub path: String,
    session: String,
}

/// The workspaces of sessions that go, as far as they are there. One that a session works in which stays is none of them.
pub fn of(log: &Log, sessions: &[String]) -> Result<Vec<Workspace>> {
    let going: HashSet<&str> = sessions.iter().map(String::as_str).collect();
    let (gone, kept): (Vec<Session>, Vec<Session>) =
        log.sessions(&Filter::default())?.into_iter().partition(|session| going.contains(session.id.as_str()));
    Ok(only_of(gone, &kept))
}

/// The workspaces of sessions that nobody used since a time. One that another session works in, which was used, is none of them, and
/// neither is that of `own`.
pub fn idle(log: &Log, own: Option<&str>, since: i64) -> Result<Vec<Workspace>> {
    let is_idle = |session: &Session| session.active < since && own != Some(session.id.as_str());
    let (idle, used): (Vec<Session>, Vec<Session>) = log.sessions(&Filter::default())?.into_iter().partition(is_idle);
    Ok(only_of(idle, &used))
}

/// The workspaces that only some sessions have: roles and sub-agents share a folder with the session they work for.
fn only_of(sessions: Vec<Session>, others: &[Session]) -> Vec<Workspace> {
    let shared: HashSet<&str> = others.iter().filter_map(|other| other.state.workspace_path.as_deref()).collect();
    let own = |session: Session| Some(Workspace { path: session.state.workspace_path?, session: session.id });
    let is_own = |workspace: &Workspace| !shared.contains(workspace.path.as_str()) && workspace.is_there();
    sessions.into_iter().filter_map(own).filter(is_own).collect()
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
        let text = if is_folder { small_file::read_inside(folder, Path::new(FILE)).ok() } else { None };
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
