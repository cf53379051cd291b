//! Workspaces of sessions that expire: which sessions they belong to, when they are old, and their
//! removal. A directory is a session's if its name among the workspaces or a file in it says so;
//! any other directory is never touched.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use waterline_log::{Filter, Log, LogError, Session, Whom};
use waterline_sandbox::workspace::Workspace as Opened;

use crate::state::Local;

/// Days after which a session is old if nothing else is set, where old sessions are to be removed.
pub const SESSION_DAYS: u64 = 30;

/// A day in milliseconds.
const DAY: i64 = 86_400_000;

/// The time a number of days ago, by the log's clock.
#[must_use]
pub fn before(log: &Log, days: u64) -> i64 {
    let back = i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY);
    log.now().saturating_sub(back)
}

/// The workspace of a session.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Where it is.
    pub path: String,
    /// Whose it is.
    session: String,
}

/// The workspaces of sessions that expire.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Workspaces {
    /// Those that are removed.
    pub expired: Vec<Workspace>,
    /// Those that stay though no other session works in them, each with a reason.
    pub kept: Vec<String>,
    /// Where workspaces are.
    place: PathBuf,
}

/// The workspaces of sessions that are erased, as far as they exist. A workspace that another
/// session works in stays.
///
/// # Errors
/// When the log cannot be read.
pub fn of(log: &Log, sessions: &[String], place: PathBuf) -> Result<Workspaces, LogError> {
    old(log, None, i64::MIN, sessions, place)
}

/// The workspaces of sessions that were not used since a time, and of those that are erased. A
/// workspace that another session works in stays, and so does that of `own`.
///
/// # Errors
/// When the log cannot be read.
pub fn old(
    log: &Log,
    own: Option<&str>,
    since: i64,
    erased: &[String],
    place: PathBuf,
) -> Result<Workspaces, LogError> {
    let erased: HashSet<&str> = erased.iter().map(String::as_str).collect();
    let is_old = |session: &Session| {
        own != Some(session.id.as_str())
            && (session.active < since || erased.contains(session.id.as_str()))
    };
    let (old, others): (Vec<Session>, Vec<Session>) =
        log.sessions(&Filter::default())?.into_iter().partition(is_old);
    Ok(Workspaces::only_of(&old, &others, place))
}

/// Whose workspace a session works in: roles and sub-agents share a folder with the session they
/// work for.
fn owner(session: &Session) -> String {
    // What does not parse names no other owner, so its workspace is kept unless it is the session's
    // own.
    let local = Local::of(session).unwrap_or_default();
    local.workspace_of.unwrap_or_else(|| session.id.clone())
}

impl Workspaces {
    /// The workspaces that only some sessions have. A shared one goes with the last session that
    /// works in it, also where its owner went before.
    fn only_of(sessions: &[Session], others: &[Session], place: PathBuf) -> Self {
        let shared: HashSet<&str> =
            others.iter().filter_map(|other| other.workspace.as_deref()).collect();
        let mut owners: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for session in sessions {
            if let Some(path) = session.workspace.as_deref().filter(|path| !shared.contains(path)) {
                owners.entry(path).or_default().push(owner(session));
            }
        }
        let mut found = Self { expired: Vec::new(), kept: Vec::new(), place };
        for (path, owners) in owners {
            found.sort(path, &owners);
        }
        found
    }

    /// Puts a folder with those that go or with those that stay; nothing need be said of one that
    /// is not there.
    fn sort(&mut self, path: &str, owners: &[String]) {
        if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return;
        }
        match owners.iter().find(|owner| is_of(path, owner, &self.place)) {
            Some(owner) => {
                self.expired.push(Workspace { path: path.to_owned(), session: owner.clone() })
            }
            None => self
                .kept
                .push(format!("{path}: {}", not_of(owners.first().map_or("", String::as_str)))),
        }
    }

    /// Removes those that expired, with everything in them; returns all that stayed, each with a
    /// reason.
    #[must_use]
    pub fn remove(&self) -> Vec<String> {
        let remove = |folder: &Workspace| folder.remove(&self.place).err();
        self.kept.iter().cloned().chain(self.expired.iter().filter_map(remove)).collect()
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
    /// Removes it; the error says which it is and why it stayed.
    fn remove(&self, place: &Path) -> Result<(), String> {
        if !is_of(&self.path, &self.session, place) {
            return Err(format!("{}: {}", self.path, not_of(&self.session)));
        }
        std::fs::remove_dir_all(&self.path)
            .map_err(|error| format!("{}: cannot remove it: {error}", self.path))
    }
}

/// Removes what is old: workspaces, and sessions where a number of days is set. Made for a start of
/// the program.
#[derive(Clone)]
pub struct Cleanup {
    /// The log.
    pub log: Log,
    /// The session that is in use and stays as it is.
    pub own: String,
    /// Where the workspaces are.
    pub place: PathBuf,
    /// Days after which unused workspaces are removed.
    pub workspace_days: u64,
    /// Days after which unused sessions are removed; never unless set.
    pub session_days: Option<u64>,
}

impl Cleanup {
    /// Cleans up on a thread of its own: nothing waits for it, and what it could not do is done the
    /// next time.
    pub fn in_background(self) {
        std::thread::spawn(move || {
            if let Err(error) = self.run() {
                tracing::warn!(target: "waterline::cleanup", %error, "the cleanup was given up");
            }
        });
    }

    fn run(&self) -> Result<(), LogError> {
        let whom = self.session_days.map(|days| Whom::IdleSince(before(&self.log, days)));
        let sessions = match &whom {
            Some(whom) => self.log.would_erase(whom)?.sessions,
            None => Vec::new(),
        };
        // Whose workspace it is can be told only as long as the session exists.
        let mut workspaces = self.old(&sessions)?;
        let erased = whom.map(|whom| self.log.erase(&whom)).transpose();
        if erased.is_err() {
            // Sessions that still exist keep their workspaces as long as is set.
            workspaces = self.old(&[])?;
        }
        for reason in workspaces.remove() {
            tracing::warn!(target: "waterline::cleanup", %reason, "a workspace was kept");
        }
        match erased {
            Ok(_) | Err(LogError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn old(&self, erased: &[String]) -> Result<Workspaces, LogError> {
        let since = before(&self.log, self.workspace_days);
        old(&self.log, Some(&self.own), since, erased, self.place.clone())
    }
}
