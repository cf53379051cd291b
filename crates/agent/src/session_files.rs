//! Moves a session together with its files, for programs that have no agent open.

use std::path::Path;

use waterline_log::{AsyncLog, Id, Log, LogError, Session};
use waterline_sandbox::workspace::{Grant, Workspace, is_same};

use crate::changes::{MovedFile, apply_moves, plan_moves};
use crate::error::AgentError;
use crate::lease::Lease;
use crate::state::{Local, edit};

/// The session whose files are moved, and where they are.
#[derive(Clone, Copy, Debug)]
pub struct SessionFiles<'a> {
    /// The session as it is before the move.
    pub session: &'a Session,
    /// The directory of all workspaces.
    pub workspaces: &'a Path,
    /// The directories outside the workspace in which files may be moved.
    pub grants: &'a [Grant],
}

impl SessionFiles<'_> {
    /// Prepares a move: call this before the session's tip is moved in the log, and
    /// [`MovingFiles::finish`] after it. No other process can work in the session until then. If
    /// the process ends in between, the next turn moves the files.
    ///
    /// # Errors
    /// [`AgentError::InUse`] if another process works in the session, [`AgentError::NoWorkspace`]
    /// if it has no workspace on this machine.
    pub async fn begin_move(&self, log: &Log) -> Result<MovingFiles, AgentError> {
        let workspace = self.open_workspace()?;
        let session = self.session.id.clone();
        let log = log.handle();
        let lease = Lease::take(log.clone(), workspace.path(), &session, None).await?;
        let id = session.clone();
        let (current, newest) =
            log.run(move |log| Ok((log.session(&id)?, log.newest_id(&id)?))).await?;
        // The files match the start of a move that was interrupted, not the newest message.
        let at = Local::of(&current)?.files_at.or(newest);
        let moving = MovingFiles { log, session, workspace, lease, at };
        moving.set_files_at(at).await?;
        Ok(moving)
    }

    /// Opens the workspace of the session with the granted directories.
    fn open_workspace(&self) -> Result<Workspace, AgentError> {
        let path = self.session.workspace.as_deref().map(Path::new);
        // As for an agent: a stored path must not open any other directory.
        let path = path
            .filter(|path| path.parent().is_some_and(|parent| is_same(parent, self.workspaces)))
            .ok_or_else(|| AgentError::NoWorkspace { session: self.session.id.clone() })?;
        let owner =
            Local::of(self.session)?.workspace_of.unwrap_or_else(|| self.session.id.clone());
        Ok(Workspace::open(path, &owner, self.grants)?)
    }
}

/// A move of a session that was started: it holds the lease of the session and the lock of its
/// workspace.
#[derive(Debug)]
pub struct MovingFiles {
    log: AsyncLog,
    session: String,
    workspace: Workspace,
    lease: Lease,
    /// The message that the files match.
    at: Option<Id>,
}

impl MovingFiles {
    /// Moves the files to where the session is now, and returns what happened to them. A file that
    /// someone else changed meanwhile is kept.
    ///
    /// # Errors
    /// When the log cannot be used.
    pub async fn finish(self) -> Result<Vec<MovedFile>, AgentError> {
        let Some(from) = self.at else { return Ok(Vec::new()) };
        let moving = self;
        let log = moving.log.clone();
        let moved = log.run(move |log| {
            let moves = plan_moves(log, &moving.session, from)?;
            let moved = apply_moves(log, &moving.workspace, &moves, |_| false);
            Ok((moving, moved))
        });
        let (moving, moved) = moved.await?;
        moving.set_files_at(None).await?;
        Ok(moved)
    }

    async fn set_files_at(&self, at: Option<Id>) -> Result<(), AgentError> {
        let id = self.session.clone();
        let fence = self.lease.held.fence();
        let store = move |log: &Log| {
            fence.check(log)?;
            let mut current = log.session(&id)?;
            let edited = edit(&mut current, |_, local| local.files_at = at);
            edited.map_err(|error| LogError::Refused(error.to_string().into()))?;
            log.save(&current)
        };
        Ok(self.log.write(store).await?)
    }
}
