//! Stored request contexts: exactly what was sent to the model. A fold starts a
//! generation, and each call stores an update: the slots that it adds. Updates form a tree, as
//! messages do, so a fork continues with the request context of its parent. The table is `frozen`.

use serde::{Deserialize, Serialize};
use waterline::history::Past;
use waterline::plan::{Head, StoredSlot};

use crate::clear::cleared;
use crate::compress::{compress, decompress};
use crate::error::{LogError, Result};
use crate::generation::{self, CHAIN, FOLD, Fold, generation_of};
use crate::log::Log;
use crate::session::{self, Session};
use crate::store::{Connection, Row, checksum, values};
use crate::tree::{Path, Tip};
use waterline::phrase;
use waterline::phrase::Phrase;

/// What one call adds to the stored request context. It is stored before the request is sent.
#[derive(Clone, Debug)]
pub struct ContextUpdate {
    /// How many messages at the start of the session were not sent because it was cleared.
    pub cleared: u64,
    /// The counts of the generation after the call.
    pub head: Head,
    /// The part of the history that need not be loaded to resume from here.
    pub past: Past,
    /// The slots to store: all of them after a fold, else the new ones.
    pub slots: Vec<StoredSlot>,
    /// The fold that the call started with; `None` if it only extended the request context.
    pub fold: Option<Fold>,
}

/// The stored request context of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestContext {
    /// The counts of the generation.
    pub head: Head,
    /// The part of the history that need not be loaded to resume.
    pub past: Past,
    /// All slots, in order.
    pub slots: Vec<StoredSlot>,
}

fn unreadable() -> Phrase {
    phrase!("damage-context", "a request context cannot be read")
}

#[derive(Serialize, Deserialize)]
struct StoredHead {
    head: Head,
    past: Past,
}

impl Log {
    /// Returns the stored request context of a session; `None` if there is none, or if the session
    /// was cleared since.
    ///
    /// # Errors
    /// If the session does not exist or the request context is damaged.
    pub fn request_context(&self, session: &str) -> Result<Option<RequestContext>> {
        self.read(|connection| {
            let session = session::load(connection, session)?;
            let cleared = cleared(connection, &session)?;
            current(connection, &session, cleared)
        })
    }
}

/// Adds an update after the newest one of a session and returns its key.
pub(crate) fn add(
    connection: &mut dyn Connection,
    session: &Session,
    at: Tip,
    update: &ContextUpdate,
    now: i64,
) -> Result<i64> {
    let generation = match (&update.fold, session.request_context) {
        (None, Some(key)) => generation_of(connection, key)?,
        (fold, _) => {
            let fold = fold.clone().unwrap_or_default();
            generation::insert(connection, &session.id, at, update.head.number, &fold, now)?
        }
    };
    insert(connection, session.request_context, generation, at, update)
}

/// One stored request context, which builds on the update before it.
pub(crate) struct StoredUpdate {
    pub(crate) tip: Tip,
    pub(crate) generation: i64,
    /// The time when its generation started.
    pub(crate) time: i64,
    pub(crate) update: ContextUpdate,
}

/// Returns an update and all updates before it, oldest first.
pub(crate) fn updates(
    connection: &mut dyn Connection,
    key: Option<i64>,
) -> Result<Vec<StoredUpdate>> {
    let sql = format!(
        "{CHAIN} SELECT f.head, f.packed, f.slots, {}, f.branch, f.position, f.generation, \
         f.cleared, g.number, g.created, {FOLD}, {}, f.previous FROM chain c JOIN frozen f ON f.key = c.key \
         LEFT JOIN generation g ON g.key = f.generation ORDER BY f.key",
        checksum::FROZEN.intact(connection.dialect(), "f."),
        checksum::GENERATION.intact(connection.dialect(), "g.")
    );
    let mut updates = Vec::new();
    let mut generation = None;
    let rows = connection.rows(&sql, values![key])?;
    // The oldest update has no previous one, unless that is missing.
    let is_whole = rows.first().map_or(key.is_none(), |row| row.maybe_int(16).is_none());
    if !is_whole {
        return Err(connection.damaged(unreadable()));
    }
    for mut row in rows {
        let parsed = parse_row(&mut row).filter(|_| row.int(15) == 1);
        let (StoredHead { head, past }, slots) =
            parsed.ok_or_else(|| connection.damaged(unreadable()))?;
        let is_first = generation.replace(row.int(6)) != Some(row.int(6));
        let fold = (is_first && row.count(8) > 0).then(|| Fold::of(&mut row, 10));
        let tip = Tip { branch: row.int(4), position: row.count(5) };
        let update = ContextUpdate { cleared: row.count(7), head, past, slots, fold };
        updates.push(StoredUpdate { tip, generation: row.int(6), time: row.int(9), update });
    }
    Ok(updates)
}

/// Parses the columns `head, packed, slots` and whether they are intact; `None` if they are
/// damaged. `packed` is 0 if the slots are not compressed, else their original size.
fn parse_row(row: &mut Row) -> Option<(StoredHead, Vec<StoredSlot>)> {
    if row.int(3) != 1 {
        return None;
    }
    let packed = row.int(1);
    let bytes = row.bytes(2);
    let size = if packed == 0 { bytes.len() } else { usize::try_from(packed).ok()? };
    let slots = decompress(i64::from(packed != 0), bytes, size)?;
    Some((serde_json::from_str(&row.text(0)).ok()?, serde_json::from_slice(&slots).ok()?))
}

fn insert(
    connection: &mut dyn Connection,
    previous: Option<i64>,
    generation: i64,
    at: Tip,
    update: &ContextUpdate,
) -> Result<i64> {
    let failed = |error: serde_json::Error| {
        LogError::refused(phrase!(
            "log-request-context",
            "cannot store the request context: {cause}",
            cause = Phrase::from(error.to_string())
        ))
    };
    let head = serde_json::to_string(&StoredHead { head: update.head.clone(), past: update.past })
        .map_err(failed)?;
    let slots = serde_json::to_vec(&update.slots).map_err(failed)?;
    let (compressed, bytes) = compress(&slots);
    // Decompression needs the original size.
    let packed = if compressed == 0 { 0 } else { i64::try_from(slots.len()).unwrap_or(i64::MAX) };
    let sql = "INSERT INTO frozen \
               (previous, generation, branch, position, cleared, head, packed, slots) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING key";
    let values = values![
        previous,
        generation,
        at.branch,
        at.position,
        update.cleared,
        head,
        packed,
        bytes.into_owned()
    ];
    connection.number(sql, values)
}

/// Returns the stored request context of a session; `None` if it was stored under another clear
/// mark than the current one, because its messages are counted from that mark.
pub(crate) fn current(
    connection: &mut dyn Connection,
    session: &Session,
    cleared: u64,
) -> Result<Option<RequestContext>> {
    let Some(key) = session.request_context else { return Ok(None) };
    let stored = connection.row("SELECT cleared FROM frozen WHERE key = $1", values![key])?;
    match stored {
        Some(row) if row.count(0) == cleared => load(connection, key).map(Some),
        Some(_) => Ok(None),
        None => Err(connection.damaged(phrase!(
            "damage-context-missing",
            "the request context of session {id} is missing",
            id = &session.id
        ))),
    }
}

fn load(connection: &mut dyn Connection, key: i64) -> Result<RequestContext> {
    let sql = format!(
        "{CHAIN} SELECT f.head, f.packed, f.slots, {} FROM chain c \
         JOIN frozen f ON f.key = c.key \
         WHERE f.generation = (SELECT generation FROM frozen WHERE key = $1) ORDER BY f.key",
        checksum::FROZEN.intact(connection.dialect(), "f.")
    );
    let mut slots: Vec<StoredSlot> = Vec::new();
    let mut newest: Option<StoredHead> = None;
    let damaged = connection.damaged(unreadable());
    let mut is_intact = true;
    connection.each(&sql, values![key], &mut |mut row| {
        match parse_row(&mut row) {
            Some((head, added)) => {
                slots.extend(added);
                newest = Some(head);
            }
            None => is_intact = false,
        }
        Ok(())
    })?;
    match newest.filter(|_| is_intact) {
        Some(StoredHead { head, past }) => Ok(RequestContext { head, past, slots }),
        None => Err(damaged),
    }
}

/// Returns the newest update, of `key` and all updates before it, that is on the path to `at`.
pub(crate) fn newest_on(
    connection: &mut dyn Connection,
    key: Option<i64>,
    at: Tip,
) -> Result<Option<i64>> {
    let Some(key) = key else { return Ok(None) };
    let path = Path::of(connection, at)?;
    let sql = format!("{CHAIN} SELECT key, branch, position FROM chain ORDER BY key DESC");
    let rows = connection.rows(&sql, values![key])?;
    let is_on_path = |row: &&Row| path.contains(Tip { branch: row.int(1), position: row.count(2) });
    Ok(rows.iter().find(is_on_path).map(|row| row.int(0)))
}
