//! Reading a session, at any point of it.

use std::ops::Range;

use crate::entry::{Entry, each_of_run};
use crate::error::{LogError, Result};
use crate::id::Id;
use crate::log::Log;
use crate::session::{self};
use crate::store::Connection;
use crate::tree::{Path, Tip, id_at, place};

impl Log {
    /// The messages of a session, oldest first.
    ///
    /// # Errors
    /// When there is no such session, or a message is damaged.
    pub fn entries(&self, session: &str) -> Result<Vec<Entry>> {
        let tip = self.session(session)?.tip;
        self.entries_in(tip, 0..tip.position)
    }

    /// The messages that lead to a place, of which the first `range.start` are left out and those
    /// behind `range.end` too.
    ///
    /// # Errors
    /// When a message is damaged.
    pub fn entries_in(&self, tip: Tip, range: Range<u64>) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        self.each(tip, range, |entry| {
            entries.push(entry);
            Ok(())
        })?;
        Ok(entries)
    }

    /// Hands over the messages that lead to a place, one at a time, so that a session may be larger
    /// than the memory.
    ///
    /// # Errors
    /// When a message is damaged; and whatever `visit` returns.
    pub fn each(
        &self,
        tip: Tip,
        range: Range<u64>,
        mut visit: impl FnMut(Entry) -> Result<()>,
    ) -> Result<()> {
        self.read(|connection| each(connection, tip, range.clone(), &mut visit))
    }

    /// One message.
    ///
    /// # Errors
    /// When it is not in the log.
    pub fn entry(&self, id: Id) -> Result<Entry> {
        self.read(|connection| {
            let tip = place(connection, id)?;
            let tip =
                tip.ok_or_else(|| LogError::Missing { what: "message", id: id.to_string() })?;
            let mut found = None;
            let run = crate::tree::Run {
                branch: tip.branch,
                after: tip.position - 1,
                upto: tip.position,
            };
            each_of_run(connection, run, &mut |entry| {
                found = Some(entry);
                Ok(())
            })?;
            found.ok_or_else(|| LogError::Missing { what: "message", id: id.to_string() })
        })
    }

    /// The id of the message at a place.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn id_at(&self, tip: Tip) -> Result<Option<Id>> {
        self.read(|connection| id_at(connection, tip))
    }

    /// What two sessions have in common, and where they part.
    ///
    /// # Errors
    /// When one of them is not there.
    pub fn compare(&self, left: &str, right: &str) -> Result<Comparison> {
        self.read(|connection| {
            let (left, right) =
                (session::load(connection, left)?.tip, session::load(connection, right)?.tip);
            compare(connection, left, right)
        })
    }

    /// What the ways to two places have in common.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn compare_tips(&self, left: Tip, right: Tip) -> Result<Comparison> {
        self.read(|connection| compare(connection, left, right))
    }
}

/// Two ways beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// How many messages they share.
    pub shared: u64,
    /// Where one ends.
    pub left: Tip,
    /// Where the other ends.
    pub right: Tip,
}

fn compare(connection: &mut dyn Connection, left: Tip, right: Tip) -> Result<Comparison> {
    let (ours, theirs) = (Path::of(connection, left)?, Path::of(connection, right)?);
    Ok(Comparison { shared: ours.shared(&theirs), left, right })
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
