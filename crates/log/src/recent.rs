//! Loads what a fold of a very long session needs: the newest messages, the first ones, and those
//! that are still shown. Of the others it reads roles and token counts only, because no fold would
//! send them.

use std::ops::Range;

use waterline::history::History;
use waterline::message::Role;
use waterline::tokens::Counter;

use crate::bulk::{self, Stretch};
use crate::clear::cleared;
use crate::entry::outlines_of_run;
use crate::error::Result;
use crate::import::Parse;
use crate::log::Log;
use crate::numbering::set_numbering;
use crate::session;
use crate::store::Connection;
use crate::tree::{Path, Run, Tip};

/// The task and the system prompt are among this many messages at the start.
const START: u64 = 64;

/// The number of messages before the newest ones in which the beginning of a step is searched.
const SEARCHED: u64 = 256;

impl Log {
    /// Returns the history of a session since it was cleared, in which old messages are unread:
    /// all but the system prompt, the first request, the `newest` messages, and `shown`, the
    /// indexes of messages that the context still has.
    ///
    /// # Errors
    /// If the session does not exist or a message is damaged.
    pub fn recent_history(
        &self,
        session: &str,
        counter: &Counter,
        parse: Parse,
        newest: usize,
        shown: &[usize],
    ) -> Result<History> {
        let (mut history, stretches) = self.read(|connection| {
            let session = session::load(connection, session)?;
            let cleared = cleared(connection, &session)?;
            let mut history = History::new(*counter);
            set_numbering(connection, &mut history, &session, cleared)?;
            let stretches = stretches(connection, session.tip, cleared, newest, shown)?;
            Ok((history, stretches))
        })?;
        bulk::load(self, &mut history, &stretches, parse)?;
        Ok(history)
    }
}

/// Divides the messages after position `cleared` into those that are read and those that are not.
pub(crate) fn stretches(
    connection: &mut dyn Connection,
    tip: Tip,
    cleared: u64,
    newest: usize,
    shown: &[usize],
) -> Result<Vec<Stretch>> {
    let runs: Vec<Run> = Path::of(connection, tip)?.runs(cleared).collect();
    let session = cleared..tip.position;
    let mut read = shown_runs(shown, cleared);
    read.push(cleared..end_of_start(connection, &runs, session.clone())?);
    read.push(start_of_newest(connection, &runs, session.clone(), newest)?..session.end);
    Ok(divided(&runs, &joined(read)))
}

/// Returns ranges of positions; a range `a..b` has the messages after position `a` up to `b`.
fn shown_runs(shown: &[usize], cleared: u64) -> Vec<Range<u64>> {
    let range = |&index: &usize| cleared + index as u64..cleared + index as u64 + 1;
    shown.iter().map(range).collect()
}

/// Returns the position of the last message before the first answer.
fn end_of_start(connection: &mut dyn Connection, runs: &[Run], session: Range<u64>) -> Result<u64> {
    let range = session.start..session.end.min(session.start + START);
    let roles = roles(connection, runs, range.clone())?;
    let answer = roles.iter().position(|role| *role == Role::Assistant);
    Ok(answer.map_or(range.end, |at| range.start + at as u64))
}

/// Returns the position before the newest messages. They begin with an answer, so that no result is
/// read without its call.
fn start_of_newest(
    connection: &mut dyn Connection,
    runs: &[Run],
    session: Range<u64>,
    newest: usize,
) -> Result<u64> {
    let usual = session.end.saturating_sub(newest as u64).max(session.start);
    let from = usual.saturating_sub(SEARCHED).max(session.start);
    let roles = roles(connection, runs, from..usual)?;
    let begins_step =
        |pair: &[Role]| matches!(pair, [other, Role::Assistant] if *other != Role::Assistant);
    let before = roles.windows(2).rposition(begins_step);
    Ok(before.map_or(usual, |at| from + at as u64 + 1))
}

fn roles(connection: &mut dyn Connection, runs: &[Run], range: Range<u64>) -> Result<Vec<Role>> {
    let mut roles = Vec::new();
    for run in runs {
        if let Some(run) = within(*run, &range) {
            roles.extend(outlines_of_run(connection, run)?.into_iter().map(|(role, _)| role));
        }
    }
    Ok(roles)
}

/// Returns ranges in order that do not overlap.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}

fn divided(runs: &[Run], read: &[Range<u64>]) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    for run in runs {
        let mut after = run.after;
        for range in read {
            let unread = within(*run, &(after..range.start));
            stretches.extend(unread.map(|run| Stretch { run, has_texts: false }));
            let texts = within(*run, range);
            stretches.extend(texts.map(Stretch::with_texts));
            after = after.max(range.end);
        }
        let unread = within(*run, &(after..run.upto));
        stretches.extend(unread.map(|run| Stretch { run, has_texts: false }));
    }
    stretches
}

/// Returns the part of a run that lies in a range.
fn within(run: Run, range: &Range<u64>) -> Option<Run> {
    let part = Run { after: run.after.max(range.start), upto: run.upto.min(range.end), ..run };
    (part.after < part.upto).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(runs: &[(u64, u64)], read: Vec<Range<u64>>) -> Vec<(u64, u64, bool)> {
        let run = |&(after, upto): &(u64, u64)| Run { branch: 1, after, upto };
        let runs: Vec<Run> = runs.iter().map(run).collect();
        let stretches = divided(&runs, &joined(read));
        stretches.iter().map(|s| (s.run.after, s.run.upto, s.has_texts)).collect()
    }

    #[test]
    fn every_message_is_in_one_stretch() {
        let whole = shape(&[(0, 10)], vec![7..10, 0..2, 1..3, 5..6]);
        let expected = [(0, 3, true), (3, 5, false), (5, 6, true), (6, 7, false), (7, 10, true)];
        assert_eq!(whole, expected);
        let branches = shape(&[(0, 4), (4, 10)], vec![0..1, 3..5, 9..10]);
        let expected =
            [(0, 1, true), (1, 3, false), (3, 4, true), (4, 5, true), (5, 9, false), (9, 10, true)];
        assert_eq!(branches, expected);
    }
}
