//! One step of a session in one transaction: new messages, what is about to be sent, what a call
//! took, what changed, a checkpoint. A process that is killed leaves all of a step or nothing of
//! it, and one flush serves them together.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::append::{appended_before, conflict};
use crate::checkpoint;
use crate::clear::cleared;
use crate::error::Result;
use crate::frozen::{self, Sent};
use crate::incoming::Incoming;
use crate::log::Log;
use crate::preference;
use crate::session::{self, Session};
use crate::store::Connection;
use crate::toolset;
use crate::tree::grow;
use crate::usage::{self, Usage};

/// A change of what a session carries. It is made to the session as it is stored when the step is,
/// so that it takes back nothing that another process changed; it may be made again when two
/// writers meet.
pub type Change = Arc<dyn Fn(&mut Session) -> Result<()> + Send + Sync>;

/// What is stored together.
#[derive(Clone, Default)]
pub struct Step {
    /// Messages behind the session's last one.
    pub messages: Vec<Incoming>,
    /// What the next call sends, those messages included.
    pub sent: Option<Sent>,
    /// Changes of title, model, policy, documents and workspace, in their order.
    pub changes: Vec<Change>,
    /// The tool definitions that the session is held with from now on.
    pub tools: Option<Vec<u8>>,
    /// What a call took. Its position is that of the last message.
    pub usage: Option<Usage>,
    /// A checkpoint of all this, with what is noted with it.
    pub checkpoint: Option<Value>,
    /// Settings, each with the user whose it is, its name and its value.
    pub preferences: Vec<(String, String, String)>,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("messages", &self.messages.len())
            .field("sent", &self.sent.is_some())
            .field("changes", &self.changes.len())
            .field("checkpoint", &self.checkpoint)
            .finish_non_exhaustive()
    }
}

impl Step {
    /// Whether there is nothing to store.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
            && self.sent.is_none()
            && self.changes.is_empty()
            && self.tools.is_none()
            && self.usage.is_none()
            && self.checkpoint.is_none()
            && self.preferences.is_empty()
    }
}

impl Log {
    /// Stores a step of a session that stands where `planned` says, and returns the session as it
    /// is then.
    ///
    /// # Errors
    /// [`LogError::Conflict`](crate::LogError::Conflict) when another process moved the session on
    /// meanwhile, sent something or cleared it. Then nothing of the step is stored.
    pub fn commit(&self, planned: &Session, step: Step) -> Result<Session> {
        let (planned, now) = (planned.clone(), self.now());
        self.write(move |connection| {
            let stored = session::hold(connection, &planned.id)?;
            if stored.tip != planned.tip {
                return repeated(connection, &planned, stored, &step);
            }
            commit(connection, &planned, stored, &step, now)
        })
    }
}

/// The session of a step that was stored before, by a writer who lost the answer; a conflict where
/// it was not.
fn repeated(
    connection: &mut dyn Connection,
    planned: &Session,
    stored: Session,
    step: &Step,
) -> Result<Session> {
    let was_sent = step.sent.is_none() || stored.frozen != planned.frozen;
    match appended_before(connection, &stored, planned.tip, &step.messages)? {
        Some(_) if was_sent => Ok(stored),
        _ => Err(conflict(&stored)),
    }
}

fn commit(
    connection: &mut dyn Connection,
    planned: &Session,
    stored: Session,
    step: &Step,
    now: i64,
) -> Result<Session> {
    let mut session = stored.clone();
    if !step.messages.is_empty() {
        session.tip = grow(connection, stored.tip, &step.messages, now)?.tip;
    }
    if let Some(sent) = &step.sent {
        if stored.frozen != planned.frozen || cleared(connection, &stored)? != sent.cleared {
            return Err(conflict(&stored));
        }
        session.frozen = Some(frozen::add(connection, &stored, session.tip, sent, now)?);
    }
    if !session::put(connection, &stored, session.tip, session.frozen, now)? {
        return Err(connection.race());
    }
    session.active = now;
    step.changes.iter().try_for_each(|change| change(&mut session))?;
    if !step.changes.is_empty() {
        session::update(connection, &session, now)?;
    }
    if let Some(tools) = &step.tools {
        session.tools = Some(toolset::set(connection, &session.id, tools)?);
    }
    if let Some(call) = &step.usage {
        let time = if call.time == 0 { now } else { call.time };
        usage::insert(
            connection,
            &session.id,
            &Usage { position: session.tip.position, time, ..call.clone() },
        )?;
    }
    for (user, name, value) in &step.preferences {
        preference::set(connection, user, name, Some(value))?;
    }
    if let Some(metadata) = &step.checkpoint {
        checkpoint::add(connection, &session, metadata)?;
    }
    Ok(session)
}
