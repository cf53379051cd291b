//! Finds the messages of a session although rows of branches may be damaged. The id of a message is
//! a hash of it and its parent's id, so where a branch starts can be found from its first message.

use super::Export;
use crate::entry::each_of_run;
use crate::error::Result;
use crate::id::Id;
use crate::store::{checksum, values};
use crate::tree::{Path, Run, Tip};
use crate::verify::branch_name;
use waterline::phrase;

/// The message after which a branch starts; [`Tip::EMPTY`] if it starts with a first message.
type Start = Tip;

impl Export<'_> {
    /// Returns the path to a tip, and records damaged branches. `None` if a branch on it cannot be
    /// found.
    pub(super) fn path(&mut self, session: &str, tip: Tip) -> Result<Option<Path>> {
        let mut runs = Vec::new();
        let mut next = tip;
        while next.position > 0 {
            let Some(start) = self.start_of(session, next.branch)? else { return Ok(None) };
            // A damaged tip may be before the start of its branch.
            if start.position < next.position {
                let upto = next.position;
                runs.push(Run { branch: next.branch, after: start.position, upto });
            }
            // Ends even if a damaged branch is its own ancestor.
            if start.position >= next.position && start.branch >= next.branch {
                return Ok(None);
            }
            next = Tip { branch: start.branch, position: start.position.min(next.position) };
        }
        Ok(Some(Path::new(runs)))
    }

    /// Returns the start of a branch: as stored, or, if its row is damaged, as its first message
    /// shows.
    fn start_of(&mut self, session: &str, branch: i64) -> Result<Option<Start>> {
        if let Some(known) = self.starts.get(&branch) {
            return Ok(*known);
        }
        let stored = self.stored_start(branch);
        let stored = self.skip_damaged(session, stored)?.flatten();
        let start = match stored {
            Some(start) => Some(start),
            None => {
                let what = branch_name(branch);
                self.note(
                    session,
                    phrase!(
                        "damage-branch-row",
                        "{branch}: its row is damaged or missing",
                        branch = what
                    ),
                );
                let shown = self.shown_start(branch);
                self.skip_damaged(session, shown)?.flatten()
            }
        };
        self.starts.insert(branch, start);
        Ok(start)
    }

    /// Returns the start of a branch as its row says; `None` if the row is damaged.
    fn stored_start(&mut self, branch: i64) -> Result<Option<Start>> {
        let is_intact = checksum::BRANCH.is_intact(self.connection.dialect(), "");
        let sql = format!("SELECT parent, fork FROM branch WHERE key = $1 AND {is_intact}");
        let row = self.connection.row(&sql, values![branch])?;
        Ok(row.map(|row| match row.maybe_int(0) {
            Some(parent) => Tip { branch: parent, position: row.count(1) },
            None => Tip::EMPTY,
        }))
    }

    /// Returns the start of a branch as its first message shows. This reads all keys of messages.
    fn shown_start(&mut self, branch: i64) -> Result<Option<Start>> {
        let sql = "SELECT MIN(position) FROM message WHERE branch = $1";
        let first = self.connection.number(sql, values![branch])?;
        let Some(position) = u64::try_from(first).ok().and_then(|first| first.checked_sub(1))
        else {
            return Ok(None);
        };
        let mut message = None;
        let run = Run { branch, after: position, upto: position + 1 };
        each_of_run(self.connection, run, &mut |entry| {
            message = Some(entry);
            Ok(())
        })?;
        let Some(message) = message else { return Ok(None) };
        let follows = |parent: Option<Id>| {
            Id::of(parent, message.role, message.encoding, &message.bytes) == message.id
        };
        if position == 0 {
            return Ok(follows(None).then_some(Tip::EMPTY));
        }
        let sql = "SELECT branch, id FROM message WHERE position = $1";
        let mut start = None;
        self.connection.each(sql, values![position], &mut |mut row| {
            if Id::stored(&row.bytes(1)).is_some_and(|id| follows(Some(id))) {
                start = Some(Tip { branch: row.int(0), position });
            }
            Ok(())
        })?;
        Ok(start)
    }
}
