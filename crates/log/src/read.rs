//! Reads the messages of a session, and compares sessions.

use std::ops::Range;

use crate::entry::{Entry, each_of_run};
use crate::error::{LogError, Result};
use crate::id::Id;
use crate::log::Log;
use crate::session::{self};
use crate::store::Connection;
use crate::tree::{Path, Tip, id_at, tip_of};

impl Log {
    /// Returns all messages of a session, oldest first.
    ///
    /// # Errors
    /// If the session does not exist or a message is damaged.
    pub fn entries(&self, session: &str) -> Result<Vec<Entry>> {
        let tip = self.session(session)?.tip;
        self.entries_in(tip, 0..tip.position)
    }

    /// Returns the messages up to `tip` whose indices, from 0, lie in `range`.
    ///
    /// # Errors
    /// If a message is damaged.
    pub fn entries_in(&self, tip: Tip, range: Range<u64>) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        self.each(tip, range, |entry| {
            entries.push(entry);
            Ok(())
        })?;
        Ok(entries)
    }

    /// Calls `visit` with each message that [`Log::entries_in`] would return. Only one message is
    /// in memory at a time, so a session may be larger than memory.
    ///
    /// # Errors
    /// If a message is damaged, or the error that `visit` returns.
    pub fn each(
        &self,
        tip: Tip,
        range: Range<u64>,
        mut visit: impl FnMut(Entry) -> Result<()>,
    ) -> Result<()> {
        self.read(|connection| each(connection, tip, range.clone(), &mut visit))
    }

    /// Returns the message with this id.
    ///
    /// # Errors
    /// If it does not exist or is damaged.
    pub fn entry(&self, id: Id) -> Result<Entry> {
        self.read(|connection| {
            let missing = || LogError::Missing { what: "message", id: id.to_string() };
            let tip = tip_of(connection, id)?.ok_or_else(missing)?;
            let mut found = None;
            let run = crate::tree::Run {
                branch: tip.branch,
                after: tip.position.saturating_sub(1),
                upto: tip.position,
            };
            each_of_run(connection, run, &mut |entry| {
                found = Some(entry);
                Ok(())
            })?;
            found.ok_or_else(missing)
        })
    }

    /// Returns the id of the message at `tip`; `None` for [`Tip::EMPTY`].
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn id_at(&self, tip: Tip) -> Result<Option<Id>> {
        self.read(|connection| id_at(connection, tip))
    }

    /// Returns how many leading messages two sessions share.
    ///
    /// # Errors
    /// If one of them does not exist.
    pub fn compare(&self, left: &str, right: &str) -> Result<Comparison> {
        self.read(|connection| {
            let left = session::load(connection, left)?.tip;
            let right = session::load(connection, right)?.tip;
            compare(connection, left, right)
        })
    }

    /// Returns how many leading messages two tips share.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn compare_tips(&self, left: Tip, right: Tip) -> Result<Comparison> {
        self.read(|connection| compare(connection, left, right))
    }
}

/// A comparison of two sessions or tips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comparison {
    /// How many leading messages both share.
    pub shared: u64,
    /// The tip of the first.
    pub left: Tip,
    /// The tip of the second.
    pub right: Tip,
}

fn compare(connection: &mut dyn Connection, left: Tip, right: Tip) -> Result<Comparison> {
    let shared = Path::of(connection, left)?.shared(&Path::of(connection, right)?);
    Ok(Comparison { shared, left, right })
}

pub(crate) fn each(
    connection: &mut dyn Connection,
    tip: Tip,
    range: Range<u64>,
    visit: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let path = Path::of(connection, tip)?;
    for mut run in path.runs(range.start) {
        run.upto = run.upto.min(range.end);
        if run.after < run.upto {
            each_of_run(connection, run, visit)?;
        }
    }
    Ok(())
}
