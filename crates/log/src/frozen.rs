//! Generations at rest: what was sent, exactly as it was sent, step by step. A fold begins a generation; each call adds a
//! step to it. Steps form a tree as messages do, so a fork goes on with what its parent sent.

use serde::{Deserialize, Serialize};
use waterline::history::Past;
use waterline::plan::{FrozenSlot, Head};

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::packed::{pack, unpack};
use crate::session::{self, Session};
use crate::store::{Connection, Row, values};
use crate::travel::{Kind, cleared, record_with};
use crate::tree::{Path, Tip};

/// What one call sent, as it is stored.
#[derive(Clone, Debug)]
pub struct Sent {
    /// How many messages at the beginning were left out, because the session had been cleared.
    pub cleared: u64,
    /// The figures after it.
    pub head: Head,
    /// What of the history need not be loaded to go on from it.
    pub past: Past,
    /// What it added: after a fold everything, else what is new.
    pub slots: Vec<FrozenSlot>,
    /// What a fold did; none where what was sent was only extended.
    pub fold: Option<Fold>,
}

/// What a fold did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fold {
    /// Why.
    pub reason: String,
    /// Tokens before it.
    pub tokens_before: usize,
    /// Tokens after it.
    pub tokens_after: usize,
    /// What the next call would have cost without it, in millionths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_before: Option<i64>,
    /// What it costs with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_after: Option<i64>,
}

/// A generation, taken up again.
#[derive(Clone, Debug)]
pub struct Frozen {
    /// The figures.
    pub head: Head,
    /// What of the history need not be loaded to go on.
    pub past: Past,
    /// What was sent, slot by slot.
    pub slots: Vec<FrozenSlot>,
}

/// A fold, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its number, from 1; 0 is what was sent before the first fold.
    pub number: u64,
    /// How many messages there were.
    pub position: u64,
    /// What the fold did.
    pub fold: Fold,
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// Whether it is the one that is in use.
    pub is_current: bool,
}

#[derive(Serialize, Deserialize)]
struct Noted {
    head: Head,
    past: Past,
}

impl Log {
    /// Stores what a call sent: a step of the session's generation, or with a fold the first step of a new one. Gives the
    /// session as it is then.
    ///
    /// # Errors
    /// [`LogError::Conflict`] when the session is no longer as it was when the call was planned: it moved on, somebody else
    /// sent something, or it was cleared.
    pub fn freeze(&self, planned: &Session, sent: Sent) -> Result<Session> {
        let (planned, now) = (planned.clone(), self.now());
        self.write(move |connection| {
            let now_there = session::load(connection, &planned.id)?;
            let key = add(connection, &planned, planned.tip, &sent, now)?;
            let as_planned = cleared(connection, &now_there)? == sent.cleared
                && session::put(connection, &planned, planned.tip, Some(key), now)?;
            if as_planned {
                session::load(connection, &planned.id)
            } else {
                Err(LogError::Conflict { session: planned.id.clone(), position: now_there.tip.position })
            }
        })
    }

    /// What a session sent last, to go on from.
    ///
    /// # Errors
    /// When there is no such session, or what is stored is damaged.
    pub fn thaw(&self, session: &str) -> Result<Option<Frozen>> {
        self.read(|connection| {
            let session = session::load(connection, session)?;
            let cleared = cleared(connection, &session)?;
            current(connection, &session, cleared)
        })
    }

    /// Takes the newest fold back: the session goes on with what was sent before it. What came after stays.
    ///
    /// # Errors
    /// When nothing was folded.
    pub fn undo_fold(&self, session: &str) -> Result<()> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let Some(key) = session.frozen else {
                return Err(LogError::Refused(format!("session {id} was not folded")));
            };
            let generation = generation_of(connection, key)?;
            let number = connection.number("SELECT number FROM generation WHERE key = $1", values![generation])?;
            if number == 0 {
                return Err(LogError::Refused(format!("session {id} was not folded")));
            }
            let first = chain(connection, key)?.last().copied().unwrap_or(key);
            let before = connection.row("SELECT previous FROM frozen WHERE key = $1", values![first])?;
            let before = before.and_then(|row| row.maybe_int(0));
            record_with(connection, &session, Kind::UndoFold, session.tip, before, now)
        })
    }

    /// Writes down a fold that another program made, after so many messages of a session. One that is known is not added
    /// again, and the answer says so.
    ///
    /// # Errors
    /// When the session has no such place.
    pub fn note_fold(&self, session: &str, position: u64, number: u64, fold: Fold, time: Option<i64>) -> Result<bool> {
        let (id, time) = (session.to_owned(), time.unwrap_or_else(|| self.now()));
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let at = Path::of(connection, session.tip)?.at(position);
            let at = at.ok_or_else(|| LogError::Refused(format!("session {id} has no message {position}")))?;
            note(connection, &id, at, number, &fold, time)
        })
    }

    /// The folds of a session, oldest first: those that led to what it sends, and those that were taken back.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn generations(&self, session: &str) -> Result<Vec<Generation>> {
        self.read(|connection| {
            let session = session::load(connection, session)?;
            let path = Path::of(connection, session.tip)?;
            let current = match session.frozen {
                Some(key) => Some(generation_of(connection, key)?),
                None => None,
            };
            let sql = "SELECT key, number, position, branch, reason, tokens_before, tokens_after, cost_before, cost_after, created \
                       FROM generation WHERE number > 0 AND (session = $1 OR key IN (\
                         WITH RECURSIVE chain (previous, generation) AS (\
                           SELECT previous, generation FROM frozen WHERE key = CAST($2 AS BIGINT) \
                           UNION ALL SELECT f.previous, f.generation FROM chain c JOIN frozen f ON f.key = c.previous) \
                         SELECT generation FROM chain)) ORDER BY key";
            let mut rows = connection.rows(sql, values![&session.id, session.frozen])?;
            for id in session::forked_from(connection, &session)?.iter().skip(1) {
                rows.extend(connection.rows(sql, values![id, None::<i64>])?);
            }
            rows.sort_by_key(|row| row.int(0));
            rows.dedup_by_key(|row| row.int(0));
            let of = |mut row: Row| {
                let tip = Tip { branch: row.int(3), position: row.count(2) };
                let fold = Fold {
                    reason: row.text(4),
                    tokens_before: row.size(5),
                    tokens_after: row.size(6),
                    cost_before: row.maybe_int(7),
                    cost_after: row.maybe_int(8),
                };
                let is_current = Some(row.int(0)) == current;
                let made = Generation { number: row.count(1), position: tip.position, fold, time: row.int(9), is_current };
                path.contains(tip).then_some(made)
            };
            Ok(rows.into_iter().filter_map(of).collect())
        })
    }
}

/// Puts a step behind the newest one of a session.
pub(crate) fn add(connection: &mut dyn Connection, session: &Session, at: Tip, step: &Sent, now: i64) -> Result<i64> {
    let generation = match (&step.fold, session.frozen) {
        (None, Some(key)) => generation_of(connection, key)?,
        (fold, _) => {
            let fold = fold.clone().unwrap_or_default();
            begin(connection, &session.id, at, step.head.number, &fold, now)?
        }
    };
    insert(connection, session.frozen, generation, at, step)
}

/// Writes down a fold that another program made, unless it is known.
pub(crate) fn note(
    connection: &mut dyn Connection,
    session: &str,
    at: Tip,
    number: u64,
    fold: &Fold,
    time: i64,
) -> Result<bool> {
    let sql = "SELECT COUNT(*) FROM generation WHERE session = $1 AND branch = $2 AND position = $3 AND number = $4";
    let is_new = connection.number(sql, values![session, at.branch, at.position, number])? == 0;
    if is_new {
        begin(connection, session, at, number, fold, time)?;
    }
    Ok(is_new)
}

/// A step as it lies in the log.
pub(crate) struct Stored {
    pub(crate) tip: Tip,
    pub(crate) generation: i64,
    /// When its generation began.
    pub(crate) time: i64,
    pub(crate) sent: Sent,
}

/// All steps that led to one, oldest first.
pub(crate) fn steps(connection: &mut dyn Connection, key: Option<i64>) -> Result<Vec<Stored>> {
    let sql = "WITH RECURSIVE chain (key, previous) AS (\
                 SELECT key, previous FROM frozen WHERE key = $1 \
                 UNION ALL SELECT f.key, f.previous FROM chain c JOIN frozen f ON f.key = c.previous) \
               SELECT f.head, f.packed, f.slots, f.branch, f.position, f.generation, g.reason, g.tokens_before, \
               g.tokens_after, g.cost_before, g.cost_after, g.number, f.cleared, g.created FROM chain c JOIN frozen f ON f.key = c.key \
               JOIN generation g ON g.key = f.generation ORDER BY f.key";
    let mut steps = Vec::new();
    let mut generation = None;
    for mut row in connection.rows(sql, values![key])? {
        let (noted, slots) = unfreeze(&mut row).ok_or_else(|| connection.damaged("what was sent cannot be read"))?;
        let is_first = generation.replace(row.int(5)) != Some(row.int(5));
        let fold = (is_first && row.count(11) > 0).then(|| Fold {
            reason: row.text(6),
            tokens_before: row.size(7),
            tokens_after: row.size(8),
            cost_before: row.maybe_int(9),
            cost_after: row.maybe_int(10),
        });
        let tip = Tip { branch: row.int(3), position: row.count(4) };
        let sent = Sent { cleared: row.count(12), head: noted.head, past: noted.past, slots, fold };
        steps.push(Stored { tip, generation: row.int(5), time: row.int(13), sent });
    }
    Ok(steps)
}

/// What a row `head, packed, slots` holds.
fn unfreeze(row: &mut Row) -> Option<(Noted, Vec<FrozenSlot>)> {
    let (packed, bytes) = (row.int(1), row.bytes(2));
    let size = if packed == 0 { bytes.len() } else { usize::try_from(packed).ok()? };
    let bytes = unpack(i64::from(packed != 0), bytes, size)?;
    Some((serde_json::from_str(&row.text(0)).ok()?, serde_json::from_slice(&bytes).ok()?))
}

fn begin(connection: &mut dyn Connection, session: &str, at: Tip, number: u64, fold: &Fold, now: i64) -> Result<i64> {
    let sql = "INSERT INTO generation (session, number, reason, branch, position, tokens_before, tokens_after, cost_before, \
               cost_after, created) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING key";
    let values = values![
        session,
        number,
        &fold.reason,
        at.branch,
        at.position,
        fold.tokens_before,
        fold.tokens_after,
        fold.cost_before,
        fold.cost_after,
        now
    ];
    connection.number(sql, values)
}

fn insert(
    connection: &mut dyn Connection,
    previous: Option<i64>,
    generation: i64,
    at: Tip,
    step: &Sent,
) -> Result<i64> {
    let failed = |error: serde_json::Error| LogError::Refused(format!("a step cannot be stored: {error}"));
    let head = serde_json::to_string(&Noted { head: step.head.clone(), past: step.past }).map_err(failed)?;
    let slots = serde_json::to_vec(&step.slots).map_err(failed)?;
    let (packed, bytes) = pack(&slots);
    // The size stands before the bytes: unpacking needs it.
    let packed = if packed == 0 { 0 } else { i64::try_from(slots.len()).unwrap_or(i64::MAX) };
    let sql = "INSERT INTO frozen (previous, generation, branch, position, cleared, head, packed, slots) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING key";
    let values = values![previous, generation, at.branch, at.position, step.cleared, head, packed, bytes.into_owned()];
    connection.number(sql, values)
}

fn generation_of(connection: &mut dyn Connection, key: i64) -> Result<i64> {
    connection.number("SELECT generation FROM frozen WHERE key = $1", values![key])
}

/// The steps of a generation that lead to one of them, newest first.
fn chain(connection: &mut dyn Connection, key: i64) -> Result<Vec<i64>> {
    let sql = "WITH RECURSIVE chain (key, previous, generation) AS (\
                 SELECT key, previous, generation FROM frozen WHERE key = $1 \
                 UNION ALL SELECT f.key, f.previous, f.generation FROM chain c \
                 JOIN frozen f ON f.key = c.previous AND f.generation = c.generation) \
               SELECT key FROM chain ORDER BY key DESC";
    Ok(connection.rows(sql, values![key])?.iter().map(|row| row.int(0)).collect())
}

/// What a session sent last; nothing where that was counted from another mark than the one that holds.
pub(crate) fn current(connection: &mut dyn Connection, session: &Session, cleared: u64) -> Result<Option<Frozen>> {
    let Some(key) = session.frozen else { return Ok(None) };
    let start = connection.row("SELECT cleared FROM frozen WHERE key = $1", values![key])?;
    match start {
        Some(row) if row.count(0) == cleared => thaw(connection, key).map(Some),
        Some(_) => Ok(None),
        None => Err(connection.damaged(format!("what session {} sent", session.id))),
    }
}

fn thaw(connection: &mut dyn Connection, key: i64) -> Result<Frozen> {
    let sql = "WITH RECURSIVE chain (key, previous, generation) AS (\
                 SELECT key, previous, generation FROM frozen WHERE key = $1 \
                 UNION ALL SELECT f.key, f.previous, f.generation FROM chain c \
                 JOIN frozen f ON f.key = c.previous AND f.generation = c.generation) \
               SELECT f.head, f.packed, f.slots FROM chain c JOIN frozen f ON f.key = c.key ORDER BY f.key";
    let mut slots: Vec<FrozenSlot> = Vec::new();
    let mut newest: Option<Noted> = None;
    let damaged = connection.damaged("what was sent cannot be read");
    let mut whole = true;
    connection.each(sql, values![key], &mut |mut row| {
        match unfreeze(&mut row) {
            Some((noted, step)) => {
                slots.extend(step);
                newest = Some(noted);
            }
            None => whole = false,
        }
        Ok(())
    })?;
    match newest.filter(|_| whole) {
        Some(Noted { head, past }) => Ok(Frozen { head, past, slots }),
        None => Err(damaged),
    }
}

/// The newest step, among those that lead to `key`, that covers nothing beyond a place.
pub(crate) fn newest_on(connection: &mut dyn Connection, key: Option<i64>, at: Tip) -> Result<Option<i64>> {
    let Some(key) = key else { return Ok(None) };
    let path = Path::of(connection, at)?;
    let sql = "WITH RECURSIVE chain (key, previous, branch, position) AS (\
                 SELECT key, previous, branch, position FROM frozen WHERE key = $1 \
                 UNION ALL SELECT f.key, f.previous, f.branch, f.position FROM chain c JOIN frozen f ON f.key = c.previous) \
               SELECT key, branch, position FROM chain ORDER BY key DESC";
    let rows = connection.rows(sql, values![key])?;
    let holds = |row: &&Row| path.contains(Tip { branch: row.int(1), position: row.count(2) });
    Ok(rows.iter().find(holds).map(|row| row.int(0)))
}
