//! Summaries of a session's messages. The newest ten versions are kept, so that after a rewind the
//! newest version that is still valid can be used.

use waterline::phrase;

use crate::error::{LogError, Result};
use crate::id::Id;
use crate::log::Log;
use crate::session::{self};
use crate::store::{Connection, Row, values};
use crate::tree::{Path, Tip, tip_of};

/// How many versions of a session's summary the log keeps.
pub const VERSIONS: u64 = 10;

/// A summary of some of a session's messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The version, from 1. The log sets it.
    pub version: u64,
    /// How many messages precede the summarized ones.
    pub start: u64,
    /// The position of the last summarized message, counting from 1.
    pub until: u64,
    /// The message that the summary was made for. The summary is valid only while the session
    /// contains it.
    pub target: Option<Id>,
    /// The generation that the summary was made for.
    pub generation: Option<u64>,
    /// The text of the summary.
    pub text: String,
    /// The tokens of the summary.
    pub tokens: usize,
    /// The tokens of the summarized messages.
    pub original_tokens: usize,
    /// When it was made, in milliseconds since 1970. If it is 0, the log sets it.
    pub time: i64,
}

impl Summary {
    /// Returns the number of summarized messages.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        self.until.saturating_sub(self.start)
    }

    /// Returns the share of tokens that the summary saves: 1 − summary / original.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn compression_rate(&self) -> f64 {
        match self.original_tokens {
            0 => 0.0,
            original => 1.0 - self.tokens as f64 / original as f64,
        }
    }
}

impl Log {
    /// Stores a summary of a session's messages and returns it with its version. An identical
    /// summary is not stored again.
    ///
    /// # Errors
    /// If the session does not exist or has no such messages.
    pub fn add_summary(&self, session: &str, summary: Summary) -> Result<Summary> {
        let id = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::lock(connection, &id)?;
            let path = Path::of(connection, session.tip)?;
            let end = path.at(summary.until).filter(|_| summary.start < summary.until);
            let last = end.ok_or_else(|| {
                LogError::refused(phrase!(
                    "log-summary-messages",
                    "session {id} has no messages {start} to {end}",
                    id = &id,
                    start = (summary.start + 1).to_string(),
                    end = summary.until.to_string()
                ))
            })?;
            let sql = "SELECT version, created FROM summary \
                       WHERE session = $1 AND branch = $2 AND position = $3 AND text = $4";
            let values = values![&id, last.branch, last.position, &summary.text];
            if let Some(row) = connection.row(sql, values)? {
                return Ok(Summary { version: row.count(0), time: row.int(1), ..summary.clone() });
            }
            let sql = "SELECT MAX(version) FROM summary WHERE session = $1";
            let newest = connection.number(sql, values![&id])?;
            let stored = Summary {
                version: u64::try_from(newest).unwrap_or_default() + 1,
                time: if summary.time == 0 { now } else { summary.time },
                ..summary.clone()
            };
            insert(connection, &id, last, &stored)?;
            let sql = "DELETE FROM summary WHERE session = $1 AND version <= $2";
            connection.run(sql, values![&id, stored.version.saturating_sub(VERSIONS)])?;
            Ok(stored)
        })
    }

    /// Returns the newest valid summary of a session, or of a session it was forked from. A summary
    /// is valid if the session contains its last message and its target.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn summary(&self, session: &str) -> Result<Option<Summary>> {
        self.read(|connection| {
            let session = session::load(connection, session)?;
            let path = Path::of(connection, session.tip)?;
            for id in session::forked_from(connection, &session)? {
                if let Some(summary) = newest(connection, &id, &path)? {
                    return Ok(Some(summary));
                }
            }
            Ok(None)
        })
    }

    /// Returns all stored versions, newest first, valid or not.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn summaries(&self, session: &str) -> Result<Vec<Summary>> {
        self.read(|connection| {
            session::load(connection, session)?;
            let sql =
                format!("SELECT {COLUMNS} FROM summary WHERE session = $1 ORDER BY version DESC");
            Ok(connection.rows(&sql, values![session])?.into_iter().map(of).collect())
        })
    }
}

fn insert(
    connection: &mut dyn Connection,
    session: &str,
    last: Tip,
    summary: &Summary,
) -> Result<()> {
    let sql = "INSERT INTO summary (session, version, start, branch, position, target, \
               generation, text, tokens, original_tokens, created) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let values = values![
        session,
        summary.version,
        summary.start,
        last.branch,
        last.position,
        summary.target,
        summary.generation,
        &summary.text,
        summary.tokens,
        summary.original_tokens,
        summary.time
    ];
    connection.run(sql, values).map(drop)
}

/// Returns the newest version that is valid on a path.
fn newest(connection: &mut dyn Connection, session: &str, path: &Path) -> Result<Option<Summary>> {
    let sql = format!("SELECT {COLUMNS} FROM summary WHERE session = $1 ORDER BY version DESC");
    for row in connection.rows(&sql, values![session])? {
        let tip = Tip { branch: row.int(9), position: row.count(2) };
        let summary = of(row);
        let target = match summary.target {
            Some(target) => tip_of(connection, target)?.is_some_and(|target| path.contains(target)),
            None => true,
        };
        if path.contains(tip) && target {
            return Ok(Some(summary));
        }
    }
    Ok(None)
}

const COLUMNS: &str =
    "version, start, position, target, generation, text, tokens, original_tokens, created, branch";

fn of(mut row: Row) -> Summary {
    Summary {
        version: row.count(0),
        start: row.count(1),
        until: row.count(2),
        target: Id::stored(&row.bytes(3)),
        generation: row.maybe_int(4).and_then(|number| u64::try_from(number).ok()),
        text: row.text(5),
        tokens: row.size(6),
        original_tokens: row.size(7),
        time: row.int(8),
    }
}
