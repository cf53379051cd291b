//! Generations: when and why a fold started each one, and what it saved. Also undoes folds.

use serde::{Deserialize, Serialize};

use waterline::phrase;
use waterline::reason::Reasons;

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::refusal::messages;
use crate::session::{self};
use crate::store::{Connection, Row, values};
use crate::tree::{Path, Tip};

/// The reason and the effect of a fold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fold {
    /// Why the context was folded.
    #[serde(default, alias = "reason")]
    pub reasons: Reasons,
    /// The tokens of the context before the fold.
    pub tokens_before: usize,
    /// The tokens of the context after the fold.
    pub tokens_after: usize,
    /// The cost of the next call without the fold, in millionths of the currency unit, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_before: Option<i64>,
    /// The cost of the next call with the fold, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_after: Option<i64>,
}

/// A generation, which a fold started.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Generation {
    /// The number of the generation, from 1. Number 0, before the first fold, is not listed.
    pub number: u64,
    /// How many messages the session had at the fold.
    pub position: u64,
    /// The fold that started it.
    pub fold: Fold,
    /// The time of the fold, in milliseconds since 1970.
    pub time: i64,
    /// Whether the session uses this generation.
    pub is_current: bool,
}

/// The start of a query over the request context $1 and all those before it.
pub(crate) const CHAIN: &str = "WITH RECURSIVE \
    chain (key, previous, generation, branch, position) AS (\
    SELECT key, previous, generation, branch, position FROM frozen WHERE key = CAST($1 AS BIGINT) \
    UNION SELECT f.key, f.previous, f.generation, f.branch, f.position \
    FROM chain c JOIN frozen f ON f.key = c.previous)";

/// The columns of a [`Fold`], in `generation g`.
pub(crate) const FOLD: &str =
    "g.reason, g.tokens_before, g.tokens_after, g.cost_before, g.cost_after";

/// The columns of a [`Generation`], in `generation g`.
const COLUMNS: &str = "g.key, g.number, g.position, g.branch, g.created, g.reason, \
                       g.tokens_before, g.tokens_after, g.cost_before, g.cost_after";

impl Fold {
    /// Reads the columns of [`FOLD`], which start at column `first`.
    pub(crate) fn of(row: &mut Row, first: usize) -> Self {
        Self {
            reasons: reasons_in(&row.text(first)),
            tokens_before: row.size(first + 1),
            tokens_after: row.size(first + 2),
            cost_before: row.maybe_int(first + 3),
            cost_after: row.maybe_int(first + 4),
        }
    }
}

/// Returns the reasons in the column `reason`: JSON, or a text that an older version wrote.
fn reasons_in(column: &str) -> Reasons {
    serde_json::from_str(column).unwrap_or_else(|_| Reasons::of_old_text(column))
}

fn column_of(reasons: &Reasons) -> String {
    // Reasons are names and numbers, so serializing them cannot fail.
    serde_json::to_string(reasons).unwrap_or_default()
}

impl Log {
    /// Stores a fold that another program made after the first `position` messages of a session.
    /// Returns `false` if it is stored already.
    ///
    /// # Errors
    /// If the session does not exist or has fewer messages.
    pub fn note_fold(
        &self,
        session: &str,
        position: u64,
        number: u64,
        fold: Fold,
        time: Option<i64>,
    ) -> Result<bool> {
        let id = session.to_owned();
        let time = time.unwrap_or_else(|| self.now());
        self.write(move |connection| {
            let session = session::lock(connection, &id)?;
            let at = Path::of(connection, session.tip)?.at(position).ok_or_else(|| {
                LogError::refused(phrase!(
                    "log-fold-position",
                    "cannot store a fold after message {position} of session {id}: it has {count}",
                    position = position.to_string(),
                    id = &id,
                    count = messages(session.tip.position)
                ))
            })?;
            add_once(connection, &id, at, number, &fold, time)
        })
    }

    /// Returns the generations of a session, oldest first, including those whose fold was undone.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn generations(&self, session: &str) -> Result<Vec<Generation>> {
        self.read(|connection| {
            let session = session::load(connection, session)?;
            let path = Path::of(connection, session.tip)?;
            let current = match session.request_context {
                Some(key) => Some(generation_of(connection, key)?),
                None => None,
            };
            let of_session =
                format!("SELECT {COLUMNS} FROM generation g WHERE number > 0 AND session = $1");
            let mut rows = Vec::new();
            for id in session::forked_from(connection, &session)? {
                rows.extend(connection.rows(&of_session, values![&id])?);
            }
            let of_context = format!(
                "{CHAIN} SELECT {COLUMNS} FROM generation g \
                 WHERE number > 0 AND key IN (SELECT generation FROM chain)"
            );
            rows.extend(connection.rows(&of_context, values![session.request_context])?);
            rows.sort_by_key(|row| row.int(0));
            rows.dedup_by_key(|row| row.int(0));
            let of = |mut row: Row| {
                let tip = Tip { branch: row.int(3), position: row.count(2) };
                path.contains(tip).then(|| Generation {
                    number: row.count(1),
                    position: tip.position,
                    fold: Fold::of(&mut row, 5),
                    time: row.int(4),
                    is_current: Some(row.int(0)) == current,
                })
            };
            Ok(rows.into_iter().filter_map(of).collect())
        })
    }
}

/// Stores a fold that another program made. Returns `false` if it is stored already.
pub(crate) fn add_once(
    connection: &mut dyn Connection,
    session: &str,
    at: Tip,
    number: u64,
    fold: &Fold,
    time: i64,
) -> Result<bool> {
    let sql = "SELECT COUNT(*) FROM generation \
               WHERE session = $1 AND branch = $2 AND position = $3 AND number = $4";
    let is_new = connection.number(sql, values![session, at.branch, at.position, number])? == 0;
    if is_new {
        insert(connection, session, at, number, fold, time)?;
    }
    Ok(is_new)
}

/// Inserts a generation and returns its key.
pub(crate) fn insert(
    connection: &mut dyn Connection,
    session: &str,
    at: Tip,
    number: u64,
    fold: &Fold,
    now: i64,
) -> Result<i64> {
    let sql = "INSERT INTO generation (session, number, reason, branch, position, \
               tokens_before, tokens_after, cost_before, cost_after, created) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING key";
    let values = values![
        session,
        number,
        column_of(&fold.reasons),
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

/// Returns the key of the generation that a request context belongs to.
pub(crate) fn generation_of(connection: &mut dyn Connection, key: i64) -> Result<i64> {
    connection.number("SELECT generation FROM frozen WHERE key = $1", values![key])
}
