//! A session with everything that belongs to it, for programs that show or inspect one.

use std::ops::Range;

use serde::Serialize;

use crate::entry::Entry;
use crate::error::Result;
use crate::generation::Generation;
use crate::log::Log;
use crate::navigate::Branch;
use crate::session::{Document, Filter, Session};
use crate::summary::Summary;

/// A session with everything that belongs to it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Detail {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// What its host keeps with it.
    pub state: Document,
    /// What its host keeps about this user and this machine.
    pub local: Document,
    /// The directory its tools work in.
    pub workspace: Option<String>,
    /// How many of its first messages were imported.
    pub imported: u64,
    /// The hash of its tool definitions.
    pub tools: Option<String>,
    /// How many of its messages are cleared: kept, and not sent.
    pub cleared: u64,
    /// The sessions that came from it.
    pub children: Vec<Session>,
    /// The branches that it is on or has left.
    pub branches: Vec<Branch>,
    /// Its folds.
    pub generations: Vec<Generation>,
    /// Its newest summary.
    pub summary: Option<Summary>,
    /// What its model calls took.
    pub usage: CallTotals,
    /// Its messages, or a range of them.
    pub entries: Vec<Entry>,
}

/// What model calls took together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CallTotals {
    /// How many there were.
    pub calls: usize,
    /// Tokens of prompts that no cache served.
    pub input: u64,
    /// Tokens of prompts that a cache served.
    pub cache_read: u64,
    /// Tokens of prompts that were written to a cache.
    pub cache_write: u64,
    /// Tokens of answers.
    pub output: u64,
}

impl Log {
    /// A session with everything that belongs to it, as it was after its first `messages.end`
    /// messages; `messages` says which of them are included.
    ///
    /// # Errors
    /// When the log cannot be read, or a message is damaged.
    pub fn detail(&self, session: Session, messages: Range<u64>) -> Result<Detail> {
        let end = messages.end;
        let mut usage = CallTotals::default();
        for call in self.usage(&session.id)? {
            usage.calls += 1;
            usage.input += call.input;
            usage.cache_read += call.cache_read;
            usage.cache_write += call.cache_write;
            usage.output += call.output;
        }
        Ok(Detail {
            entries: self.entries_in(session.tip, messages)?,
            generations: self
                .generations(&session.id)?
                .into_iter()
                .filter(|fold| fold.position <= end)
                .collect(),
            summary: self.summary(&session.id)?.filter(|summary| summary.until <= end),
            branches: self.branches(&session.id)?,
            children: self
                .sessions(&Filter { parent: Some(session.id.clone()), ..Filter::default() })?,
            cleared: self.cleared(&session.id)?,
            usage,
            state: session.state.clone(),
            local: session.local.clone(),
            workspace: session.workspace.clone(),
            imported: session.imported,
            tools: session.tools.clone(),
            session,
        })
    }
}
