//! Folders that belong to sessions, and when they are old. One is known by its name among the workspaces, or by a file in it that
//! names its session; any other folder is never touched, and said to stay.

use std::collections::{BTreeMap, HashSet};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use waterline_log::{Filter, Log, Session, kept};
use waterline_sandbox::workspace::Workspace as Opened;

use crate::show::plain;

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
    /// Whose it is.
    session: String,
}

/// The folders of sessions that are old, or that go.
#[derive(Debug)]
pub struct Workspaces {
    /// Those that go with them.
    pub going: Vec<Workspace>,
    /// Those that stay though nothing else works in them, each with a reason.
    kept: Vec<String>,
    /// Where workspaces are.
    place: PathBuf,
}

/// The workspaces of sessions that go, as far as they are there. One that a session works in which stays is none of them.
pub fn of(log: &Log, sessions: &[String], place: PathBuf) -> Result<Workspaces> {
    old(log, None, i64::MIN, sessions, place)
}

/// The workspaces of sessions that nobody used since a time, and of those that are erased. One that a session works in which is
/// neither is none of them, and neither is that of `own`.
pub fn old(log: &Log, own: Option<&str>, since: i64, erased: &[String], place: PathBuf) -> Result<Workspaces> {
    let erased: HashSet<&str> = erased.iter().map(String::as_str).collect();
    let is_old = |session: &Session| {
        own != Some(session.id.as_str()) && (session.active < since || erased.contains(session.id.as_str()))
    };
    let (old, others): (Vec<Session>, Vec<Session>) = log.sessions(&Filter::default())?.into_iter().partition(is_old);
    Ok(Workspaces::only_of(&old, &others, place))
}

/// Whose workspace a session works in: roles and sub-agents share a folder with the session they work for.
fn owner(session: &Session) -> &str {
    session.state.other.get(kept::WORKSPACE_OF).and_then(Value::as_str).unwrap_or(&session.id)
}

impl Workspaces {
    /// The workspaces that only some sessions have. A shared one goes with the last session that works in it, also where its owner
    /// went before.
    fn only_of(sessions: &[Session], others: &[Session], place: PathBuf) -> Self {
        let shared: HashSet<&str> = others.iter().filter_map(|other| other.state.workspace_path.as_deref()).collect();
        let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for session in sessions {
            if let Some(path) = session.state.workspace_path.as_deref().filter(|path| !shared.contains(path)) {
                owners.entry(path).or_default().push(owner(session));
            }
        }
        let mut found = Self { going: Vec::new(), kept: Vec::new(), place };
        for (path, owners) in owners {
            found.sort(path, &owners);
        }
        found
    }

    /// Puts a folder with those that go or with those that stay; nothing need be said of one that is not there.
    fn sort(&mut self, path: &str, owners: &[&str]) {
        if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return;
        }
        match owners.iter().find(|owner| is_of(path, owner, &self.place)) {
            Some(owner) => self.going.push(Workspace { path: path.to_owned(), session: (*owner).to_owned() }),
            None => self.kept.push(format!("{path}: {}", not_of(owners.first().copied().unwrap_or_default()))),
        }
    }

    /// Removes those that go with everything in them; gives all that stayed, each with a reason.
    pub fn remove(&self) -> Vec<String> {
        let remove =
            |folder: &Workspace| folder.remove(&self.place).err().map(|error| format!("{}: {error:#}", folder.path));
        self.kept.iter().cloned().chain(self.going.iter().filter_map(remove)).collect()
    }

    /// Removes them where it is `done`, else only looks; gives what stayed, or would stay.
    pub fn remove_if(&self, done: bool) -> Vec<String> {
        if done { self.remove() } else { self.kept.clone() }
    }

    /// Says which workspaces went, or would go.
    pub fn write(&self, out: &mut impl Write, kept: &[String], done: bool) -> Result<()> {
        for folder in &self.going {
            writeln!(out, "{} {}", if done { "workspace" } else { "would remove workspace" }, plain(&folder.path))?;
        }
        for reason in kept {
            writeln!(out, "{} {}", if done { "kept" } else { "would keep" }, plain(reason))?;
        }
        Ok(())
    }
}

/// Whether a folder is a session's. A link is not followed: what it leads to may be anybody's.
fn is_of(path: &str, session: &str, place: &Path) -> bool {
    let is_folder = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    is_folder && Opened::is_of(Path::new(path), session, place)
}

/// Why a folder stays.
fn not_of(session: &str) -> String {
    format!("it is not the workspace of session {session}")
}

impl Workspace {
    fn remove(&self, place: &Path) -> Result<()> {
        if !is_of(&self.path, &self.session, place) {
            bail!(not_of(&self.session));
        }
        std::fs::remove_dir_all(&self.path).with_context(|| format!("cannot remove {}", self.path))
    }
}
