//! Rewind, redo and branches: moves of a session's tip. A tip that is left stays where it was, and
//! every move is recorded, so that it can be undone. Clearing a session is no move: `clear.rs`.

use crate::error::{LogError, Result};
use crate::frozen;
use crate::id::Id;
use crate::log::Log;
use crate::session::{self, Session};
use crate::store::{Connection, Row, values};
use crate::tree::{Path, Tip, id_at, place};

/// A place to go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// After so many messages.
    Position(u64),
    /// So many messages away.
    Messages(u64),
    /// So many turns away: before the user message that opened the last of them.
    Turns(u64),
    /// At this message.
    Message(Id),
}

/// Why a tip moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rewind,
    Forward,
    Resend,
    Restore,
    Switch,
    UndoFold,
    /// An answer that was not taken is kept beside the way.
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
            Self::Aside => "aside",
        }
    }
}

/// A way that a session has gone, or left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Where it ends.
    pub tip: Tip,
    /// The id of its last message; none before the first one.
    pub id: Option<Id>,
    /// How many messages it shares with where the session stands.
    pub shared: u64,
    /// Whether the session stands there.
    pub is_current: bool,
    /// Whether it is an answer that broke off, or was not taken, and was kept beside the way.
    pub is_aside: bool,
}

/// Moves the tip of a session and writes down where it was. What was sent goes with it: going back,
/// to what was sent then; going on, to what was sent last on that way.
pub(crate) fn record(
    connection: &mut dyn Connection,
    session: &Session,
    kind: Kind,
    to: Tip,
    now: i64,
) -> Result<()> {
    let mut steps = vec![session.frozen];
    if !matches!(kind, Kind::Rewind | Kind::Aside) {
        // A fold that was undone is not brought back by the way: what was sent before that counts
        // no more.
        let sql = "SELECT from_frozen FROM move WHERE session = $1 AND number > \
                   (SELECT COALESCE(MAX(number), 0) FROM move WHERE session = $1 AND kind = 'undo-fold')";
        steps
            .extend(connection.rows(sql, values![&session.id])?.iter().map(|row| row.maybe_int(0)));
    }
    steps.dedup();
    let mut newest = None;
    for step in steps.into_iter().flatten() {
        newest = newest.max(frozen::newest_on(connection, Some(step), to)?);
    }
    record_with(connection, session, kind, to, newest, now)
}

pub(crate) fn record_with(
    connection: &mut dyn Connection,
    session: &Session,
    kind: Kind,
    to: Tip,
    frozen: Option<i64>,
    now: i64,
) -> Result<()> {
    let sql = "INSERT INTO move (session, number, kind, from_branch, from_position, from_frozen, to_branch, to_position, created) \
               SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4, $5, $6, $7, $8 FROM move WHERE session = $1";
    let (from, id) = (session.tip, &session.id);
    let values = values![
        id,
        kind.name(),
        from.branch,
        from.position,
        session.frozen,
        to.branch,
        to.position,
        now
    ];
    connection.run(sql, values)?;
    if session::put(connection, session, to, frozen, now)? {
        Ok(())
    } else {
        Err(connection.race())
    }
}

/// The tips that a session has left, newest first.
pub(crate) fn left(connection: &mut dyn Connection, session: &str) -> Result<Vec<Tip>> {
    Ok(moves(connection, session)?.into_iter().map(|(tip, _)| tip).collect())
}

/// The same, each with the word for why it was left.
fn moves(connection: &mut dyn Connection, session: &str) -> Result<Vec<(Tip, String)>> {
    let sql =
        "SELECT from_branch, from_position, kind FROM move WHERE session = $1 ORDER BY number DESC";
    let rows = connection.rows(sql, values![session])?;
    let of = |mut row: Row| (Tip { branch: row.int(0), position: row.count(1) }, row.text(2));
    Ok(rows.into_iter().map(of).collect())
}

/// Where the newest step back began that ended where a session stands.
fn stepped_back_from(connection: &mut dyn Connection, session: &Session) -> Result<Option<Tip>> {
    let sql = "SELECT from_branch, from_position FROM move WHERE session = $1 AND kind = $2 AND to_branch = $3 \
               AND to_position = $4 ORDER BY number DESC";
    let (id, Tip { branch, position }) = (&session.id, session.tip);
    for row in connection.rows(sql, values![id, Kind::Rewind.name(), branch, position])? {
        let tip = Tip { branch: row.int(0), position: row.count(1) };
        // What was imported may have been left for another way.
        if tip.position > position && Path::of(connection, tip)?.contains(session.tip) {
            return Ok(Some(tip));
        }
    }
    Ok(None)
}

/// The end of the way that a session left last, if it stands on it.
fn ahead(connection: &mut dyn Connection, session: &Session) -> Result<Option<Tip>> {
    let mut end = session.tip;
    for tip in left(connection, &session.id)? {
        if tip.position > end.position && Path::of(connection, tip)?.contains(end) {
            end = tip;
        }
    }
    Ok(Some(end).filter(|&end| end != session.tip))
}

/// The place before the message that opened one of the last `count` turns.
pub(crate) fn turns_back(
    connection: &mut dyn Connection,
    path: &Path,
    count: u64,
) -> Result<Option<u64>> {
    let mut left = count;
    for run in path.runs(0).collect::<Vec<_>>().into_iter().rev() {
        let sql = "SELECT m.position FROM message m JOIN content c ON c.key = m.content \
                   WHERE m.branch = $1 AND m.position > $2 AND m.position <= $3 AND c.role = 1 \
                   ORDER BY m.position DESC LIMIT $4";
        let rows = connection.rows(sql, values![run.branch, run.after, run.upto, left])?;
        left -= rows.len() as u64;
        if left == 0 {
            return Ok(rows.last().map(|row| row.count(0) - 1));
        }
    }
    Ok(None)
}

fn behind(session: &Session, path: &Path, position: Option<u64>) -> Result<Tip> {
    let found = position
        .filter(|&position| position <= session.tip.position)
        .and_then(|position| path.at(position));
    found.ok_or_else(|| {
        let text = format!(
            "session {} has {} messages; there is no such place to go back to",
            session.id, session.tip.position
        );
        LogError::Refused(text)
    })
}

impl Log {
    /// Goes back. What comes after is kept: [`Log::forward`] returns to it, and appending goes
    /// another way from here.
    ///
    /// # Errors
    /// When the session has no such place.
    pub fn rewind(&self, session: &str, to: To) -> Result<Session> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let path = Path::of(connection, session.tip)?;
            let position = match to {
                To::Position(position) => Some(position),
                To::Messages(count) => session.tip.position.checked_sub(count),
                To::Turns(0) => Some(session.tip.position),
                To::Turns(count) => turns_back(connection, &path, count)?,
                To::Message(id) => {
                    place(connection, id)?.filter(|&tip| path.contains(tip)).map(|tip| tip.position)
                }
            };
            let tip = behind(&session, &path, position)?;
            if tip != session.tip {
                record(connection, &session, Kind::Rewind, tip, now)?;
            }
            session::load(connection, &id)
        })
    }

    /// Goes on to what was left last, through several steps back if there were: so many messages,
    /// or all of them.
    ///
    /// # Errors
    /// When there is nothing to go on to.
    pub fn forward(&self, session: &str, messages: Option<u64>) -> Result<Session> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let Some(end) = ahead(connection, &session)? else {
                return Err(LogError::Refused(format!(
                    "session {id} has nothing to go forward to"
                )));
            };
            let position =
                messages.map_or(end.position, |count| session.tip.position.saturating_add(count));
            let to = Path::of(connection, end)?.at(position.min(end.position)).unwrap_or(end);
            record(connection, &session, Kind::Forward, to, now)?;
            session::load(connection, &id)
        })
    }

    /// Takes the newest step back that ended here back: of several steps the last one first, as
    /// they were made.
    ///
    /// # Errors
    /// When nobody went back to where the session stands.
    pub fn redo(&self, session: &str) -> Result<Session> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let Some(to) = stepped_back_from(connection, &session)? else {
                return Err(LogError::Refused(format!(
                    "session {id} has nothing to go forward to"
                )));
            };
            record(connection, &session, Kind::Forward, to, now)?;
            session::load(connection, &id)
        })
    }

    /// The ways that a session has gone: where it stands, and where it stood before it went back.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn branches(&self, session: &str) -> Result<Vec<Branch>> {
        self.read(|connection| {
            let session = session::load(connection, session)?;
            let current = Path::of(connection, session.tip)?;
            let mut found: Vec<(Tip, Path)> = vec![(session.tip, current.clone())];
            let ways = moves(connection, &session.id)?;
            for (tip, _) in &ways {
                let (tip, path) = (*tip, Path::of(connection, *tip)?);
                // What lies on the way to another end is no way of its own.
                if !found.iter().any(|(_, other)| other.contains(tip)) {
                    found.retain(|(other, _)| *other == session.tip || !path.contains(*other));
                    found.push((tip, path));
                }
            }
            let mut branches = Vec::new();
            for (tip, path) in found {
                let id = id_at(connection, tip)?;
                let is_aside =
                    ways.iter().any(|(left, kind)| *left == tip && kind == Kind::Aside.name());
                let (shared, is_current) = (current.shared(&path), tip == session.tip);
                branches.push(Branch { tip, id, shared, is_current, is_aside });
            }
            Ok(branches)
        })
    }

    /// Goes over to another way that the session has gone.
    ///
    /// # Errors
    /// When the message is not in the log.
    pub fn switch(&self, session: &str, to: Id) -> Result<Session> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let mut ways = left(connection, &id)?;
            ways.push(session.tip);
            let tip = place(connection, to)?;
            let mut reachable = None;
            for way in ways {
                let path = Path::of(connection, way)?;
                reachable = reachable.or(tip.filter(|&tip| path.contains(tip)));
            }
            let tip = reachable.ok_or_else(|| LogError::Missing {
                what: "message of this session",
                id: to.to_string(),
            })?;
            record(connection, &session, Kind::Switch, tip, now)?;
            session::load(connection, &id)
        })
    }
}
