//! A session with all its data, for programs that show or inspect it.

use std::ops::Range;

use serde::Serialize;

use crate::entry::Entry;
use crate::error::Result;
use crate::generation::Generation;
use crate::job::SUMMARY_JOB;
use crate::log::Log;
use crate::navigate::Branch;
use crate::session::{Document, Filter, Session};
use crate::summary::Summary;

/// A session with all its data, returned by [`Log::detail`].
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Detail {
    /// The row of the session, with its tip.
    #[serde(flatten)]
    pub session: Session,
    /// The application's state ([`Session::state`]).
    pub state: Document,
    /// The application's data about this user and machine ([`Session::local`]).
    pub local: Document,
    /// The directory that the tools work in.
    pub workspace: Option<String>,
    /// How many of the first messages were imported.
    pub imported: u64,
    /// The hash of the tool definitions.
    pub tools: Option<String>,
    /// How many of the first messages are cleared: stored, but not sent.
    pub cleared: u64,
    /// Its forks and sub-agents.
    pub children: Vec<Session>,
    /// The branches that the session is on or has left.
    pub branches: Vec<Branch>,
    /// What each fold started to send.
    pub generations: Vec<Generation>,
    /// The newest valid summary.
    pub summary: Option<Summary>,
    /// Whether a background summary is under way, or waits for a process to make it.
    pub is_summarizing: bool,
    /// The total usage of its model calls.
    pub usage: CallTotals,
    /// The messages in the requested range.
    pub entries: Vec<Entry>,
}

/// The total usage of several model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CallTotals {
    /// Number of calls.
    pub calls: usize,
    /// Prompt tokens that were not cached.
    pub input: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache.
    pub cache_write: u64,
    /// Output tokens.
    pub output: u64,
}

impl Log {
    /// Returns a session with all its data and the messages in the range `messages`. Folds and
    /// summaries of messages after `messages.end` are left out.
    ///
    /// # Errors
    /// If the log cannot be read or a message is damaged.
    pub fn detail(&self, session: Session, messages: Range<u64>) -> Result<Detail> {
        let end = messages.end;
        let mut usage = CallTotals::default();
        for call in self.usage(&session.id)? {
            usage.calls += 1;
            usage.input = usage.input.saturating_add(call.input);
            usage.cache_read = usage.cache_read.saturating_add(call.cache_read);
            usage.cache_write = usage.cache_write.saturating_add(call.cache_write);
            usage.output = usage.output.saturating_add(call.output);
        }
        Ok(Detail {
            entries: self.entries_in(session.tip, messages)?,
            generations: self
                .generations(&session.id)?
                .into_iter()
                .filter(|fold| fold.position <= end)
                .collect(),
            is_summarizing: self.jobs(Some(&session.id))?.iter().any(|job| job.kind == SUMMARY_JOB),
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
