//! The files of a session that goes back or forward: the flags of commands that move them, and what
//! happened to them.

use std::path::Path;

use anyhow::Result;
use waterline_agent::SessionFiles;
use waterline_agent::changes::{FileOutcome, MovedFile};
use waterline_config::{Config, workspaces};
use waterline_log::{ChangesBetween, Log, Session};
use waterline_sandbox::workspace::Grant;

use crate::environment::environment;
use crate::error::describe_cause;
use crate::lang::list;
use crate::show::plain;
use crate::text;

/// Maximum number of files named on one line.
const MAX_NAMES: usize = 10;

/// The flags of commands that move a session.
#[derive(Debug, clap::Args)]
pub struct FileArguments {
    /// Also restore the files that the turns changed
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
            let newest = log.newest_id(&session.id)?;
            let moved = change()?;
            // If the records cannot be read, files may have been changed.
            let is_unchanged = newest.is_none_or(|newest| {
                let between = log.file_changes_since(&session.id, newest);
                between.is_ok_and(|between| between == ChangesBetween::default())
            });
            if !is_unchanged {
                anstream::eprintln!("{}", text!("files-not-moved"));
            }
            return Ok(moved);
        }
        let config = Config::load(std::sync::Arc::clone(environment()))?;
        let grants: Vec<Grant> =
            config.settings.agent.allow_dirs.iter().chain(&self.allow_dirs).cloned().collect();
        let workspaces = workspaces(&config)?;
        let files = SessionFiles { session, workspaces: &workspaces, grants: &grants };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let moving = runtime.block_on(files.begin_move(log))?;
        let moved = change()?;
        let files = runtime.block_on(moving.finish())?;
        report(&files).iter().for_each(|line| anstream::eprintln!("{line}"));
        Ok(moved)
    }
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
        with(&FileOutcome::NotRecorded).map(|paths| text!("files-not-recorded", paths = paths)),
        with(&FileOutcome::Repository).map(|paths| text!("files-repository", paths = paths)),
        with(&FileOutcome::Link).map(|paths| text!("files-links", paths = paths)),
    ];
    let failed = moved.iter().filter_map(|file| match &file.outcome {
        FileOutcome::Failed(why) => {
            Some(text!("files-failed", path = shown(&file.path), why = describe_cause(why)))
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
    list(&names)
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
