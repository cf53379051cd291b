//! Stores what changed in a session, in one transaction: new messages, the request context, usage,
//! changes, artifacts, records of changed files and a checkpoint. A process that is killed leaves
//! either all of it or nothing, and it costs one flush.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::append::{appended_before, conflict};
use crate::artifact::NewArtifact;
use crate::checkpoint;
use crate::clear::cleared;
use crate::error::Result;
use crate::file_change::{self, FileRecord};
use crate::incoming::Incoming;
use crate::log::Log;
use crate::preference;
use crate::request_context::{self, ContextUpdate};
use crate::session::{self, Session};
use crate::store::Connection;
use crate::toolset;
use crate::tree::grow;
use crate::usage::{self, Usage};

/// A change to the fields of a session. It applies to the session as stored at the time of the
/// commit, so it does not overwrite changes by other processes. It runs again after a write
/// conflict.
pub type Change = Arc<dyn Fn(&mut Session) -> Result<()> + Send + Sync>;

/// Data that is stored together.
#[derive(Clone, Default)]
pub struct Commit {
    /// Messages to append.
    pub messages: Vec<Incoming>,
    /// The request context of the next call, which includes those messages.
    pub context: Option<ContextUpdate>,
    /// Changes to title, model, policy, documents and workspace, applied in order.
    pub changes: Vec<Change>,
    /// The tool definitions that the session uses from now on.
    pub tools: Option<Vec<u8>>,
    /// The usage of a call. Its position is set to that of the last message.
    pub usage: Option<Usage>,
    /// The metadata of a checkpoint, which is taken after all other changes.
    pub checkpoint: Option<Value>,
    /// Preferences to set: user, name and value.
    pub preferences: Vec<(String, String, String)>,
    /// Artifacts of the session.
    pub artifacts: Vec<NewArtifact>,
    /// Records of changed files. Each names its session, which may be the one of another agent,
    /// and a message that is already stored.
    pub file_records: Vec<FileRecord>,
}

impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit")
            .field("messages", &self.messages.len())
            .field("context", &self.context.is_some())
            .field("changes", &self.changes.len())
            .field("checkpoint", &self.checkpoint)
            .finish_non_exhaustive()
    }
}

impl Commit {
    /// Returns whether there is nothing to store.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
            && self.context.is_none()
            && self.changes.is_empty()
            && self.tools.is_none()
            && self.usage.is_none()
            && self.checkpoint.is_none()
            && self.preferences.is_empty()
            && self.artifacts.is_empty()
            && self.file_records.is_empty()
    }
}

impl Log {
    /// Stores a commit to a session and returns the session as stored. `planned` is the session as
    /// it was when the commit was planned.
    ///
    /// # Errors
    /// [`LogError::Conflict`](crate::LogError::Conflict) if another process has since moved the
    /// session, stored a request context or cleared it. Then nothing of the commit is stored.
    pub fn commit(&self, planned: &Session, commit: Commit) -> Result<Session> {
        let planned = planned.clone();
        let now = self.now();
        self.write(move |connection| {
            let stored = session::lock(connection, &planned.id)?;
            if stored.tip != planned.tip {
                return stored_before(connection, &planned, stored, &commit);
            }
            apply(connection, &planned, stored, &commit, now)
        })
    }
}

/// Returns the session if the commit was stored before and its writer retries because it never
/// received the reply; else a conflict. It is a conflict too if the session has moved on since: the
/// writer does not know the newer messages and must read them before it continues.
fn stored_before(
    connection: &mut dyn Connection,
    planned: &Session,
    stored: Session,
    commit: &Commit,
) -> Result<Session> {
    let has_context = commit.context.is_none() || stored.request_context != planned.request_context;
    let end = planned.tip.position + commit.messages.len() as u64;
    match appended_before(connection, &stored, planned.tip, &commit.messages)? {
        Some(_) if has_context && stored.tip.position == end => Ok(stored),
        _ => Err(conflict(&stored)),
    }
}

fn apply(
    connection: &mut dyn Connection,
    planned: &Session,
    stored: Session,
    commit: &Commit,
    now: i64,
) -> Result<Session> {
    let mut session = stored.clone();
    if !commit.messages.is_empty() {
        session.tip = grow(connection, stored.tip, &commit.messages, now)?.tip;
    }
    if let Some(update) = &commit.context {
        if stored.request_context != planned.request_context
            || cleared(connection, &stored)? != update.cleared
        {
            return Err(conflict(&stored));
        }
        session.request_context =
            Some(request_context::add(connection, &stored, session.tip, update, now)?);
    }
    if !session::put(connection, &stored, session.tip, session.request_context, now)? {
        return Err(connection.race());
    }
    session.active = now;
    commit.changes.iter().try_for_each(|change| change(&mut session))?;
    if !commit.changes.is_empty() {
        session::update(connection, &session, now)?;
    }
    if let Some(tools) = &commit.tools {
        session.tools = Some(toolset::set(connection, &session.id, tools)?);
    }
    if let Some(call) = &commit.usage {
        let time = if call.time == 0 { now } else { call.time };
        usage::insert(
            connection,
            &session.id,
            &Usage { position: session.tip.position, time, ..call.clone() },
        )?;
    }
    for (user, name, value) in &commit.preferences {
        preference::set(connection, user, name, Some(value))?;
    }
    for artifact in &commit.artifacts {
        artifact.put(connection, &session.id, now)?;
    }
    for record in &commit.file_records {
        file_change::add(connection, record, now)?;
    }
    if let Some(metadata) = &commit.checkpoint {
        checkpoint::add(connection, &session, metadata)?;
    }
    Ok(session)
}
