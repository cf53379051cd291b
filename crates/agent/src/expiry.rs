//! Removes the workspaces of expired sessions. A directory belongs to a session if its name or a
//! file in it says so; any other directory is never touched. Clean-ups keep `outputs/`, where the
//! user's results are.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use waterline_log::{EraseTarget, Filter, Log, LogError, Session};
use waterline_sandbox::workspace::Workspace as Opened;

use crate::state::Local;

/// The default number of days after which unused sessions are removed, if removal is on.
pub const SESSION_DAYS: u64 = 30;

/// A day in milliseconds.
const DAY: i64 = 86_400_000;

/// Returns the time a number of days ago, by the log's clock.
#[must_use]
pub fn before(log: &Log, days: u64) -> i64 {
    let back = i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY);
    log.now().saturating_sub(back)
}

/// The workspace of a session.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The absolute path of the directory.
    pub path: String,
    /// The session that owns it.
    session: String,
}

/// The workspaces of expired sessions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Workspaces {
    /// Workspaces to remove.
    pub expired: Vec<Workspace>,
    /// Directories that are kept although no other session uses them, each with the reason.
    pub kept: Vec<String>,
    /// The directory that contains the workspaces.
    root: PathBuf,
    /// Whether results stay: `outputs/` with its files.
    keeps_outputs: bool,
}

/// Returns the existing workspaces of sessions that the user erases by name, with all their files.
/// A workspace that another session uses is kept.
///
/// # Errors
/// When the log cannot be read.
pub fn of(log: &Log, sessions: &[String], root: PathBuf) -> Result<Workspaces, LogError> {
    let found = old(log, None, i64::MIN, sessions, root)?;
    Ok(Workspaces { keeps_outputs: false, ..found })
}

/// Returns the workspaces of sessions that were not used since a time, and of erased sessions. A
/// workspace that another session uses is kept, and so is the workspace of `own`. Removing them
/// keeps `outputs/`.
///
/// # Errors
/// When the log cannot be read.
pub fn old(
    log: &Log,
    own: Option<&str>,
    since: i64,
    erased: &[String],
    root: PathBuf,
) -> Result<Workspaces, LogError> {
    let erased: HashSet<&str> = erased.iter().map(String::as_str).collect();
    let is_old = |session: &Session| {
        own != Some(session.id.as_str())
            && (session.idle_since() < since || erased.contains(session.id.as_str()))
    };
    let (old, others): (Vec<Session>, Vec<Session>) =
        log.sessions(&Filter::default())?.into_iter().partition(is_old);
    Ok(Workspaces::only_of(&old, &others, root))
}

/// Returns the session that owns the workspace of a session: roles and sub-agents share the
/// workspace of the session they work for.
fn owner(session: &Session) -> String {
    // State that does not parse names no other owner, so a workspace is kept unless it is the
    // session's own.
    let local = Local::of(session).unwrap_or_default();
    local.workspace_of.unwrap_or_else(|| session.id.clone())
}

impl Workspaces {
    /// Keeps `outputs/` of each workspace if it has files.
    #[must_use]
    pub fn keeping_outputs(self) -> Self {
        Self { keeps_outputs: true, ..self }
    }

    /// Returns the workspaces that are used by `sessions` and by none of `others`. A shared
    /// workspace expires with the last session that uses it, even if its owner expired earlier.
    fn only_of(sessions: &[Session], others: &[Session], root: PathBuf) -> Self {
        let shared: HashSet<&str> =
            others.iter().filter_map(|other| other.workspace.as_deref()).collect();
        let mut owners: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for session in sessions {
            if let Some(path) = session.workspace.as_deref().filter(|path| !shared.contains(path)) {
                owners.entry(path).or_default().push(owner(session));
            }
        }
        let mut found = Self { expired: Vec::new(), kept: Vec::new(), root, keeps_outputs: true };
        for (path, owners) in owners {
            found.classify(path, &owners);
        }
        found
    }

    /// Adds a directory to the expired or the kept ones. A missing directory is ignored, and so is
    /// one that a clean-up has reduced to its results.
    fn classify(&mut self, path: &str, owners: &[String]) {
        if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
            || (self.keeps_outputs && has_outputs(Path::new(path)) && rest(path).is_empty())
        {
            return;
        }
        match owners.iter().find(|owner| is_of(path, owner, &self.root)) {
            Some(owner) => {
                self.expired.push(Workspace { path: path.to_owned(), session: owner.clone() })
            }
            None => self
                .kept
                .push(format!("{path}: {}", not_of(owners.first().map_or("", String::as_str)))),
        }
    }

    /// Removes the expired workspaces. Returns all that were kept, each with the reason.
    #[must_use]
    pub fn remove(&self) -> Vec<String> {
        let remove = |workspace: &Workspace| workspace.remove(&self.root, self.keeps_outputs).err();
        self.kept.iter().cloned().chain(self.expired.iter().filter_map(remove)).collect()
    }
}

/// Returns whether a directory is the workspace of a session. Links are not followed: the target
/// may belong to someone else.
fn is_of(path: &str, session: &str, root: &Path) -> bool {
    let is_directory = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    is_directory && Opened::is_of(Path::new(path), session, root)
}

/// Returns why a directory is kept.
fn not_of(session: &str) -> String {
    format!("it is not the workspace of session {session}")
}

impl Workspace {
    /// Removes the workspace. The error names it and says why it was kept.
    fn remove(&self, root: &Path, keeps_outputs: bool) -> Result<(), String> {
        if !is_of(&self.path, &self.session, root) {
            return Err(format!("{}: {}", self.path, not_of(&self.session)));
        }
        let failed = |error: std::io::Error| format!("{}: cannot remove it: {error}", self.path);
        let results = Path::new(&self.path).join(OUTPUTS);
        if !(keeps_outputs && has_outputs(Path::new(&self.path))) {
            return std::fs::remove_dir_all(&self.path).map_err(failed);
        }
        rest(&self.path).iter().try_for_each(|path| remove_entry(path)).map_err(failed)?;
        Err(format!("{}: it has results, which are kept", results.display()))
    }
}

/// The directory of a workspace that holds the results for the user.
const OUTPUTS: &str = "outputs";

/// Returns whether a workspace has results. A directory that cannot be read may have some.
fn has_outputs(workspace: &Path) -> bool {
    match std::fs::read_dir(workspace.join(OUTPUTS)) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// Returns what a clean-up removes from a workspace with results.
fn rest(workspace: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(workspace).into_iter().flatten().flatten();
    // The file that names the session stays: it marks the directory as a workspace.
    let stays = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        name == OUTPUTS || name == waterline_sandbox::workspace::FILE
    };
    entries.filter(|entry| !stays(entry)).map(|entry| entry.path()).collect()
}

/// Removes a file, a link or a directory with everything in it. Links are not followed.
fn remove_entry(path: &Path) -> std::io::Result<()> {
    match std::fs::symlink_metadata(path)?.is_dir() {
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    }
}

/// Removes unused workspaces and unused sessions after the days that the user's config sets. Meant
/// to run when the program starts.
#[derive(Clone)]
pub struct Cleanup {
    /// The log that stores the sessions.
    pub log: Log,
    /// The session in use, which is never removed.
    pub own: String,
    /// The directory that contains the workspaces.
    pub place: PathBuf,
    /// Days after which unused workspaces are removed; `None` means never.
    pub workspace_days: Option<u64>,
    /// Days after which unused sessions are removed; `None` means never.
    pub session_days: Option<u64>,
}

impl Cleanup {
    /// Cleans up on a separate thread. Nothing waits for it; what fails is tried again the next
    /// time.
    pub fn in_background(self) {
        std::thread::spawn(move || {
            if let Err(error) = self.run() {
                tracing::warn!(target: "waterline::cleanup", %error, "cleanup failed");
            }
        });
    }

    fn run(&self) -> Result<(), LogError> {
        let whom = self.session_days.map(|days| EraseTarget::IdleSince(before(&self.log, days)));
        let sessions = match &whom {
            Some(whom) => self.log.would_erase(whom)?.sessions,
            None => Vec::new(),
        };
        // The owner of a workspace is known only as long as its session exists.
        let mut workspaces = self.old(&sessions)?;
        let erased = whom.map(|whom| self.log.erase(&whom)).transpose();
        if erased.is_err() {
            // Sessions that still exist keep their workspaces until those expire.
            workspaces = self.old(&[])?;
        }
        for reason in workspaces.remove() {
            tracing::warn!(target: "waterline::cleanup", %reason, "workspace kept");
        }
        match erased {
            Ok(_) | Err(LogError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn old(&self, erased: &[String]) -> Result<Workspaces, LogError> {
        let since = self.workspace_days.map_or(i64::MIN, |days| before(&self.log, days));
        old(&self.log, Some(&self.own), since, erased, self.place.clone())
    }
}
