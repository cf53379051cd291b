//! Rewind, redo and branches: operations that move a session's tip. Every move is recorded, so that
//! it can be undone and the messages after the new tip stay reachable. Clearing a session does not
//! move its tip: see `clear.rs`.

use crate::error::{LogError, Result};
use crate::id::Id;
use crate::log::Log;
use crate::numbering::numbering;
use crate::refusal::Refusal;
use crate::request_context;
use crate::session::{self, Session};
use crate::store::{Connection, Row, values};
use crate::tree::{Path, Tip, id_at, tip_of};

/// The target of [`Log::rewind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RewindTarget {
    /// Keep this number of messages.
    Position(u64),
    /// Go back this number of messages.
    Messages(u64),
    /// Go back this number of turns, to before the user message that started the earliest of them.
    Turns(u64),
    /// Go back to this message and keep it.
    Message(Id),
}

/// The kind of a recorded move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rewind,
    Forward,
    Resend,
    Restore,
    Switch,
    UndoFold,
    /// A move was taken back.
    Back,
    /// A partial or rejected reply was kept on a side branch.
    Aside,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Rewind => "rewind",
            Self::Forward => "forward",
            Self::Resend => "resend",
            Self::Restore => "restore",
            Self::Switch => "switch",
            Self::UndoFold => "undo-fold",
            Self::Back => "back",
            Self::Aside => "aside",
        }
    }
}

/// A branch that a session is on, or has left.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Branch {
    /// The last message of the branch.
    pub tip: Tip,
    /// The id of that message; `None` if the branch is empty.
    pub id: Option<Id>,
    /// How many leading messages it shares with the current branch.
    pub shared: u64,
    /// Whether the session is on this branch.
    pub is_current: bool,
    /// Whether it is a side branch, which holds a partial or rejected reply.
    pub is_side_branch: bool,
}

/// Moves the tip of a session and records where it was. The stored request context moves with it: a
/// rewind restores the one sent at that point, other moves restore the newest one on that branch.
pub(crate) fn record(
    connection: &mut dyn Connection,
    session: &Session,
    kind: Kind,
    to: Tip,
    now: i64,
) -> Result<()> {
    let mut contexts = vec![session.request_context];
    if !matches!(kind, Kind::Rewind | Kind::Aside) {
        // Ignore moves before the last undone fold: a move must not bring that fold back.
        let sql = "SELECT from_frozen FROM move WHERE session = $1 AND number > \
                   (SELECT COALESCE(MAX(number), 0) FROM move \
                   WHERE session = $1 AND kind = 'undo-fold')";
        let rows = connection.rows(sql, values![&session.id])?;
        contexts.extend(rows.iter().map(|row| row.maybe_int(0)));
    }
    contexts.dedup();
    let mut newest = None;
    for context in contexts.into_iter().flatten() {
        newest = newest.max(request_context::newest_on(connection, Some(context), to)?);
    }
    record_with(connection, session, kind, to, newest, now)
}

pub(crate) fn record_with(
    connection: &mut dyn Connection,
    session: &Session,
    kind: Kind,
    to: Tip,
    request_context: Option<i64>,
    now: i64,
) -> Result<()> {
    let sql = "INSERT INTO move (session, number, kind, from_branch, from_position, from_frozen, \
               to_branch, to_position, created) \
               SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4, $5, $6, $7, $8 \
               FROM move WHERE session = $1";
    let from = session.tip;
    let values = values![
        &session.id,
        kind.name(),
        from.branch,
        from.position,
        session.request_context,
        to.branch,
        to.position,
        now
    ];
    connection.run(sql, values)?;
    if session::put(connection, session, to, request_context, now)? {
        Ok(())
    } else {
        Err(connection.race())
    }
}

/// Returns the tips that a session has left, newest first.
pub(crate) fn left_tips(connection: &mut dyn Connection, session: &str) -> Result<Vec<Tip>> {
    Ok(left_with_kind(connection, session)?.into_iter().map(|(tip, _)| tip).collect())
}

/// Returns the tips that a session has left, newest first, with the kind of each move.
fn left_with_kind(connection: &mut dyn Connection, session: &str) -> Result<Vec<(Tip, String)>> {
    let sql =
        "SELECT from_branch, from_position, kind FROM move WHERE session = $1 ORDER BY number DESC";
    let rows = connection.rows(sql, values![session])?;
    let of = |mut row: Row| (Tip { branch: row.int(0), position: row.count(1) }, row.text(2));
    Ok(rows.into_iter().map(of).collect())
}

/// Returns the start of the newest rewind that ended at the current tip.
fn rewound_from(connection: &mut dyn Connection, session: &Session) -> Result<Option<Tip>> {
    let sql = "SELECT from_branch, from_position FROM move WHERE session = $1 \
               AND kind IN ($2, $5) AND to_branch = $3 AND to_position = $4 ORDER BY number DESC";
    let Tip { branch, position } = session.tip;
    let values = values![&session.id, Kind::Rewind.name(), branch, position, Kind::Restore.name()];
    for row in connection.rows(sql, values)? {
        let tip = Tip { branch: row.int(0), position: row.count(1) };
        // An import records every left branch as a rewind, also those on another path.
        if tip.position > position && Path::of(connection, tip)?.contains(session.tip) {
            return Ok(Some(tip));
        }
    }
    Ok(None)
}

/// Returns the end of the newest left branch that the current tip is on.
fn forward_end(connection: &mut dyn Connection, session: &Session) -> Result<Option<Tip>> {
    let mut end = session.tip;
    for tip in left_tips(connection, &session.id)? {
        if tip.position > end.position && Path::of(connection, tip)?.contains(end) {
            end = tip;
        }
    }
    Ok(Some(end).filter(|&end| end != session.tip))
}

/// Returns the position before the user message that started the last `count` turns; `None` if
/// there are fewer turns.
pub(crate) fn turns_back(
    connection: &mut dyn Connection,
    path: &Path,
    count: u64,
) -> Result<Option<u64>> {
    let starts = turn_starts(connection, path, count)?;
    let first = usize::try_from(count).ok().and_then(|count| starts.get(count.checked_sub(1)?));
    Ok(first.map(|start| start - 1))
}

/// Returns the positions of the user messages that started the last turns, newest first, at most
/// `count`.
fn turn_starts(connection: &mut dyn Connection, path: &Path, count: u64) -> Result<Vec<u64>> {
    let mut starts = Vec::new();
    for run in path.runs(0).collect::<Vec<_>>().into_iter().rev() {
        let sql = "SELECT m.position FROM message m JOIN content c ON c.key = m.content \
                   WHERE m.branch = $1 AND m.position > $2 AND m.position <= $3 AND c.role = 1 \
                   ORDER BY m.position DESC LIMIT $4";
        let left = count - starts.len() as u64;
        if left == 0 {
            break;
        }
        let rows = connection.rows(sql, values![run.branch, run.after, run.upto, left])?;
        starts.extend(rows.iter().map(|row| row.count(0)));
    }
    Ok(starts)
}

fn cannot_rewind(
    connection: &mut dyn Connection,
    session: &Session,
    to: RewindTarget,
) -> Result<LogError> {
    let id = session.id.clone();
    Ok(LogError::Refused(match to {
        RewindTarget::Message(message) => {
            Refusal::NotInSession { session: id, message: message.short() }
        }
        RewindTarget::Turns(asked) => {
            let path = Path::of(connection, session.tip)?;
            let count = turn_starts(connection, &path, asked)?.len() as u64;
            Refusal::TooFewTurns { session: id, asked, count }
        }
        RewindTarget::Position(_) | RewindTarget::Messages(_) => {
            let count = numbering(connection, session)?.count(session.tip.position);
            Refusal::TooFarBack { session: id, count }
        }
    }))
}

fn nothing_to_redo(session: &str) -> LogError {
    LogError::Refused(Refusal::NothingToRedo(session.to_owned()))
}

impl Log {
    /// Moves a session back to an earlier message and returns it.
    ///
    /// No message is lost: [`Log::redo`] and [`Log::forward`] return to the later messages, and
    /// appending starts a new branch.
    ///
    /// # Errors
    /// If the session does not reach back that far or does not contain the message.
    pub fn rewind(&self, session: &str, to: RewindTarget) -> Result<Session> {
        let id = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let path = Path::of(connection, session.tip)?;
            let position = match to {
                RewindTarget::Position(position) => Some(position),
                RewindTarget::Messages(count) => session.tip.position.checked_sub(count),
                RewindTarget::Turns(0) => Some(session.tip.position),
                RewindTarget::Turns(count) => turns_back(connection, &path, count)?,
                RewindTarget::Message(id) => tip_of(connection, id)?
                    .filter(|&tip| path.contains(tip))
                    .map(|tip| tip.position),
            };
            let tip = position
                .filter(|&position| position <= session.tip.position)
                .and_then(|position| path.at(position));
            let Some(tip) = tip else { return Err(cannot_rewind(connection, &session, to)?) };
            if tip != session.tip {
                record(connection, &session, Kind::Rewind, tip, now)?;
            }
            session::load(connection, &id)
        })
    }

    /// Moves a session forward again after rewinding, by this number of messages or to the end of
    /// the branch that it left last. Several rewinds are undone at once.
    ///
    /// # Errors
    /// If the branch has no later messages.
    pub fn forward(&self, session: &str, messages: Option<u64>) -> Result<Session> {
        let id = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let Some(end) = forward_end(connection, &session)? else {
                return Err(nothing_to_redo(&id));
            };
            let position =
                messages.map_or(end.position, |count| session.tip.position.saturating_add(count));
            let to = Path::of(connection, end)?.at(position.min(end.position)).unwrap_or(end);
            record(connection, &session, Kind::Forward, to, now)?;
            session::load(connection, &id)
        })
    }

    /// Undoes the newest rewind or restore that ended at the current tip. Calling it again undoes
    /// the one before that.
    ///
    /// # Errors
    /// If no rewind or restore ended at the current tip.
    pub fn redo(&self, session: &str) -> Result<Session> {
        let id = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let Some(to) = rewound_from(connection, &session)? else {
                return Err(nothing_to_redo(&id));
            };
            record(connection, &session, Kind::Forward, to, now)?;
            session::load(connection, &id)
        })
    }

    /// Takes the newest move back: the session has the tip, the context and the state of `before`
    /// again, which is the session as it was before that move. [`Log::redo`] ignores it.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn take_back(&self, before: &Session) -> Result<Session> {
        let before = before.clone();
        let now = self.now();
        self.write(move |connection| {
            let session = session::load(connection, &before.id)?;
            let context = before.request_context;
            record_with(connection, &session, Kind::Back, before.tip, context, now)?;
            session::put_state(connection, &before)?;
            session::load(connection, &before.id)
        })
    }

    /// Returns the branches of a session: the current one first, then those that it has left by
    /// rewinding or switching, newest first.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn branches(&self, session: &str) -> Result<Vec<Branch>> {
        self.read(|connection| {
            let session = session::load(connection, session)?;
            let current = Path::of(connection, session.tip)?;
            let mut found: Vec<(Tip, Path)> = vec![(session.tip, current.clone())];
            let left = left_with_kind(connection, &session.id)?;
            for &(tip, _) in &left {
                let path = Path::of(connection, tip)?;
                // A tip on the path to another tip is not a separate branch.
                if !found.iter().any(|(_, other)| other.contains(tip)) {
                    found.retain(|(other, _)| *other == session.tip || !path.contains(*other));
                    found.push((tip, path));
                }
            }
            let mut branches = Vec::new();
            for (tip, path) in found {
                let id = id_at(connection, tip)?;
                let is_side_branch =
                    left.iter().any(|(left, kind)| *left == tip && kind == Kind::Aside.name());
                let shared = current.shared(&path);
                let is_current = tip == session.tip;
                branches.push(Branch { tip, id, shared, is_current, is_side_branch });
            }
            Ok(branches)
        })
    }

    /// Moves a session to a message on any of its branches.
    ///
    /// # Errors
    /// If no branch of the session contains the message.
    pub fn switch(&self, session: &str, to: Id) -> Result<Session> {
        let id = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let mut tips = left_tips(connection, &id)?;
            tips.push(session.tip);
            let target = tip_of(connection, to)?;
            let mut reachable = None;
            for tip in tips {
                let path = Path::of(connection, tip)?;
                reachable = reachable.or(target.filter(|&target| path.contains(target)));
            }
            let tip = reachable.ok_or_else(|| LogError::Missing {
                what: "branch with message",
                id: to.to_string(),
            })?;
            record(connection, &session, Kind::Switch, tip, now)?;
            session::load(connection, &id)
        })
    }
}
