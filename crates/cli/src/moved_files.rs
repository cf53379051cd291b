//! The files of a session that goes back or forward: what happened to them, and moving them without
//! a chat.

use std::path::Path;

use anyhow::{Context, Result};
use waterline_agent::changes::{FileOutcome, MovedFile, apply_moves, plan_moves};
use waterline_agent::state::edit;
use waterline_agent::{AgentError, Local};
use waterline_config::{Config, workspaces};
use waterline_log::{Log, Session};
use waterline_sandbox::workspace::{Grant, Workspace, is_same};

use crate::environment::environment;
use crate::show::plain;
use crate::text;

/// The most files named on one line.
const MAX_NAMES: usize = 10;

/// The flags of commands that move a session.
#[derive(Debug, clap::Args)]
pub struct FileArguments {
    /// Restore the files that the turns changed, too
    #[arg(long)]
    files: bool,
    /// With --files: restore files in this directory as well as in the workspace
    #[arg(long = "allow-dir", value_name = "DIR", requires = "files")]
    allow_dirs: Vec<Grant>,
}

impl FileArguments {
    /// Moves a session with `change`, and its files if the flags say so. What happened to the files
    /// goes to standard error; a file that was changed meanwhile is kept. Returns the result of
    /// `change`.
    pub fn move_session<T>(
        &self,
        log: &Log,
        session: &Session,
        change: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if !self.files {
            let moved = change()?;
            anstream::eprintln!("{}", text!("files-not-moved"));
            return Ok(moved);
        }
        let workspace = self.workspace(session)?;
        let newest = log.newest_id(&session.id)?;
        // Stored, so that the next turn finishes an interrupted move.
        let unfinished = Local::of(session)?.files_at;
        let at = unfinished.or_else(|| newest.map(|id| id.to_string()));
        set_files_at(log, session, at.clone())?;
        let moved = change()?;
        if let Some(from) = at.map(|id| id.parse()).transpose()? {
            let moves = plan_moves(log, &session.id, from)?;
            let files = apply_moves(log, &workspace, &moves, |_| false);
            report(&files).iter().for_each(|line| anstream::eprintln!("{line}"));
        }
        set_files_at(log, session, None)?;
        Ok(moved)
    }

    /// Opens the workspace of a session with the granted directories.
    fn workspace(&self, session: &Session) -> Result<Workspace> {
        let config = Config::load(std::sync::Arc::clone(environment()))?;
        let directory = workspaces(&config)?;
        let path = session.workspace.as_deref().map(Path::new);
        // As for an agent: a stored path must not open any other directory.
        let path = path
            .filter(|path| path.parent().is_some_and(|parent| is_same(parent, &directory)))
            .context(text!("files-no-workspace", id = plain(&session.id)))?;
        let owner = Local::of(session)?.workspace_of.unwrap_or_else(|| session.id.clone());
        let grants = config.settings.agent.allow_dirs.iter().chain(&self.allow_dirs);
        let grants: Vec<Grant> = grants.cloned().collect();
        Ok(Workspace::open(path, &owner, &grants).map_err(AgentError::from)?)
    }
}

/// Stores the message that the files match.
fn set_files_at(log: &Log, session: &Session, at: Option<String>) -> Result<()> {
    let mut current = log.session(&session.id)?;
    edit(&mut current, |_, local| local.files_at = at)?;
    Ok(log.save(&current)?)
}

/// Formats what happened to the files, one line for each kind.
pub fn report(moved: &[MovedFile]) -> Vec<String> {
    let with = |outcome: &FileOutcome| {
        let found = moved.iter().filter(|file| file.outcome == *outcome);
        let paths: Vec<&String> = found.map(|file| &file.path).collect();
        (!paths.is_empty()).then(|| names(paths.into_iter()))
    };
    let lines = [
        with(&FileOutcome::Restored).map(|paths| text!("files-restored", paths = paths)),
        with(&FileOutcome::Removed).map(|paths| text!("files-removed", paths = paths)),
        with(&FileOutcome::RestoredInPart).map(|paths| text!("files-in-part", paths = paths)),
        with(&FileOutcome::ChangedMeanwhile).map(|paths| text!("files-kept", paths = paths)),
        with(&FileOutcome::TooLarge).map(|paths| text!("files-too-large", paths = paths)),
    ];
    let failed = moved.iter().filter_map(|file| match &file.outcome {
        FileOutcome::Failed(why) => {
            Some(text!("files-failed", path = shown(&file.path), why = why.as_str()))
        }
        _ => None,
    });
    lines.into_iter().flatten().chain(failed).collect()
}

/// Returns the names of files, for one line.
pub fn names<'a>(paths: impl ExactSizeIterator<Item = &'a String>) -> String {
    let count = paths.len();
    let mut names: Vec<String> = paths.take(MAX_NAMES).map(|path| shown(path)).collect();
    if count > MAX_NAMES {
        names.push(text!("call-more-files", count = count - MAX_NAMES));
    }
    names.join(", ")
}

/// Returns a path for display: relative to the current directory if it is inside.
pub fn shown(path: &str) -> String {
    let current = std::env::current_dir().ok();
    let inside = current.and_then(|current| {
        let inside = Path::new(path).strip_prefix(current).ok()?;
        Some(inside.display().to_string())
    });
    plain(inside.as_deref().unwrap_or(path))
}
