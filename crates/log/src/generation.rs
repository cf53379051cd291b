//! Folds: when a generation began, why, and what it saved; undoing one.

use serde::{Deserialize, Serialize};

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::navigate::{Kind, record_with};
use crate::session::{self};
use crate::store::{Connection, Row, values};
use crate::tree::{Path, Tip};

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

/// The steps that led to one ($1), itself included.
pub(crate) const CHAIN: &str = "WITH RECURSIVE chain (key, previous, generation, branch, position) AS (\
    SELECT key, previous, generation, branch, position FROM frozen WHERE key = CAST($1 AS BIGINT) \
    UNION ALL SELECT f.key, f.previous, f.generation, f.branch, f.position FROM chain c JOIN frozen f ON f.key = c.previous)";

/// What a [`Fold`] is read from, in a table called `g`.
pub(crate) const FOLD: &str =
    "g.reason, g.tokens_before, g.tokens_after, g.cost_before, g.cost_after";

/// What a [`Generation`] is read from.
const COLUMNS: &str = "g.key, g.number, g.position, g.branch, g.created, g.reason, g.tokens_before, g.tokens_after, \
                       g.cost_before, g.cost_after";

impl Fold {
    /// Reads the columns of [`FOLD`], the first of which is at `first`.
    pub(crate) fn of(row: &mut Row, first: usize) -> Self {
        Self {
            reason: row.text(first),
            tokens_before: row.size(first + 1),
            tokens_after: row.size(first + 2),
            cost_before: row.maybe_int(first + 3),
            cost_after: row.maybe_int(first + 4),
        }
    }
}

impl Log {
    /// Takes the newest fold back: the session goes on with what was sent before it. What came
    /// after stays.
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
            let number = connection
                .number("SELECT number FROM generation WHERE key = $1", values![generation])?;
            if number == 0 {
                return Err(LogError::Refused(format!("session {id} was not folded")));
            }
            let sql = format!("{CHAIN} SELECT MAX(key) FROM chain WHERE generation <> $2");
            let before =
                connection.row(&sql, values![key, generation])?.and_then(|row| row.maybe_int(0));
            record_with(connection, &session, Kind::UndoFold, session.tip, before, now)
        })
    }

    /// Writes down a fold that another program made, after so many messages of a session. One that
    /// is known is not added again, and the answer says so.
    ///
    /// # Errors
    /// When the session has no such place.
    pub fn note_fold(
        &self,
        session: &str,
        position: u64,
        number: u64,
        fold: Fold,
        time: Option<i64>,
    ) -> Result<bool> {
        let (id, time) = (session.to_owned(), time.unwrap_or_else(|| self.now()));
        self.write(move |connection| {
            let session = session::hold(connection, &id)?;
            let at = Path::of(connection, session.tip)?.at(position);
            let at = at.ok_or_else(|| {
                LogError::Refused(format!("session {id} has no message {position}"))
            })?;
            note(connection, &id, at, number, &fold, time)
        })
    }

    /// The folds of a session, oldest first: those that led to what it sends, and those that were
    /// taken back.
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
            let noted = format!("SELECT {COLUMNS} FROM generation g WHERE number > 0 AND session = $1");
            let mut rows = Vec::new();
            for id in session::forked_from(connection, &session)? {
                rows.extend(connection.rows(&noted, values![&id])?);
            }
            let sent = format!(
                "{CHAIN} SELECT {COLUMNS} FROM generation g WHERE number > 0 AND key IN (SELECT generation FROM chain)"
            );
            rows.extend(connection.rows(&sent, values![session.frozen])?);
            rows.sort_by_key(|row| row.int(0));
            rows.dedup_by_key(|row| row.int(0));
            let of = |mut row: Row| {
                let tip = Tip { branch: row.int(3), position: row.count(2) };
                let (number, time, is_current) = (row.count(1), row.int(4), Some(row.int(0)) == current);
                let made = Generation { number, position: tip.position, fold: Fold::of(&mut row, 5), time, is_current };
                path.contains(tip).then_some(made)
            };
            Ok(rows.into_iter().filter_map(of).collect())
        })
    }
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

/// Begins a generation and gives its key.
pub(crate) fn begin(
    connection: &mut dyn Connection,
    session: &str,
    at: Tip,
    number: u64,
    fold: &Fold,
    now: i64,
) -> Result<i64> {
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

/// The generation of a step.
pub(crate) fn generation_of(connection: &mut dyn Connection, key: i64) -> Result<i64> {
    connection.number("SELECT generation FROM frozen WHERE key = $1", values![key])
}
