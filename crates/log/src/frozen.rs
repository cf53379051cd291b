//! Generations at rest: what was sent, exactly as it was sent, step by step. A fold begins a
//! generation; each call adds a step to it. Steps form a tree as messages do, so a fork goes on
//! with what its parent sent.

use serde::{Deserialize, Serialize};
use waterline::history::Past;
use waterline::plan::{FrozenSlot, Head};

use crate::clear::cleared;
use crate::compress::{pack, unpack};
use crate::error::{LogError, Result};
use crate::generation::{CHAIN, FOLD, Fold, begin, generation_of};
use crate::log::Log;
use crate::session::{self, Session};
use crate::store::{Connection, Row, values};
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

#[derive(Serialize, Deserialize)]
struct Noted {
    head: Head,
    past: Past,
}

impl Log {
    /// Stores what a call sent: a step of the session's generation, or with a fold the first step
    /// of a new one. Gives the session as it is then.
    ///
    /// # Errors
    /// [`LogError::Conflict`] when the session is no longer as it was when the call was planned: it
    /// moved on, somebody else sent something, or it was cleared.
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
                Err(LogError::Conflict {
                    session: planned.id.clone(),
                    position: now_there.tip.position,
                })
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
}

/// Puts a step behind the newest one of a session.
pub(crate) fn add(
    connection: &mut dyn Connection,
    session: &Session,
    at: Tip,
    step: &Sent,
    now: i64,
) -> Result<i64> {
    let generation = match (&step.fold, session.frozen) {
        (None, Some(key)) => generation_of(connection, key)?,
        (fold, _) => {
            let fold = fold.clone().unwrap_or_default();
            begin(connection, &session.id, at, step.head.number, &fold, now)?
        }
    };
    insert(connection, session.frozen, generation, at, step)
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
    let sql = format!(
        "{CHAIN} SELECT f.head, f.packed, f.slots, f.branch, f.position, f.generation, f.cleared, g.number, g.created, {FOLD} \
         FROM chain c JOIN frozen f ON f.key = c.key JOIN generation g ON g.key = f.generation ORDER BY f.key"
    );
    let mut steps = Vec::new();
    let mut generation = None;
    for mut row in connection.rows(&sql, values![key])? {
        let (noted, slots) =
            unfreeze(&mut row).ok_or_else(|| connection.damaged("what was sent cannot be read"))?;
        let is_first = generation.replace(row.int(5)) != Some(row.int(5));
        let fold = (is_first && row.count(7) > 0).then(|| Fold::of(&mut row, 9));
        let tip = Tip { branch: row.int(3), position: row.count(4) };
        let sent = Sent { cleared: row.count(6), head: noted.head, past: noted.past, slots, fold };
        steps.push(Stored { tip, generation: row.int(5), time: row.int(8), sent });
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

fn insert(
    connection: &mut dyn Connection,
    previous: Option<i64>,
    generation: i64,
    at: Tip,
    step: &Sent,
) -> Result<i64> {
    let failed =
        |error: serde_json::Error| LogError::Refused(format!("a step cannot be stored: {error}"));
    let head = serde_json::to_string(&Noted { head: step.head.clone(), past: step.past })
        .map_err(failed)?;
    let slots = serde_json::to_vec(&step.slots).map_err(failed)?;
    let (packed, bytes) = pack(&slots);
    // The size stands before the bytes: unpacking needs it.
    let packed = if packed == 0 { 0 } else { i64::try_from(slots.len()).unwrap_or(i64::MAX) };
    let sql = "INSERT INTO frozen (previous, generation, branch, position, cleared, head, packed, slots) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING key";
    let values = values![
        previous,
        generation,
        at.branch,
        at.position,
        step.cleared,
        head,
        packed,
        bytes.into_owned()
    ];
    connection.number(sql, values)
}

/// What a session sent last; nothing where that was counted from another mark than the one that
/// holds.
pub(crate) fn current(
    connection: &mut dyn Connection,
    session: &Session,
    cleared: u64,
) -> Result<Option<Frozen>> {
    let Some(key) = session.frozen else { return Ok(None) };
    let start = connection.row("SELECT cleared FROM frozen WHERE key = $1", values![key])?;
    match start {
        Some(row) if row.count(0) == cleared => thaw(connection, key).map(Some),
        Some(_) => Ok(None),
        None => Err(connection.damaged(format!("what session {} sent", session.id))),
    }
}

fn thaw(connection: &mut dyn Connection, key: i64) -> Result<Frozen> {
    let sql = format!(
        "{CHAIN} SELECT f.head, f.packed, f.slots FROM chain c JOIN frozen f ON f.key = c.key \
         WHERE f.generation = (SELECT generation FROM frozen WHERE key = $1) ORDER BY f.key"
    );
    let mut slots: Vec<FrozenSlot> = Vec::new();
    let mut newest: Option<Noted> = None;
    let damaged = connection.damaged("what was sent cannot be read");
    let mut whole = true;
    connection.each(&sql, values![key], &mut |mut row| {
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
pub(crate) fn newest_on(
    connection: &mut dyn Connection,
    key: Option<i64>,
    at: Tip,
) -> Result<Option<i64>> {
    let Some(key) = key else { return Ok(None) };
    let path = Path::of(connection, at)?;
    let sql = format!("{CHAIN} SELECT key, branch, position FROM chain ORDER BY key DESC");
    let rows = connection.rows(&sql, values![key])?;
    let holds = |row: &&Row| path.contains(Tip { branch: row.int(1), position: row.count(2) });
    Ok(rows.iter().find(holds).map(|row| row.int(0)))
}
