//! Summaries with the messages they cover. Newer ones supersede older ones, of which ten are kept;
//! whoever goes back behind a summary gets the newest that still holds.

use crate::error::{LogError, Result};
use crate::id::Id;
use crate::log::Log;
use crate::session::{self};
use crate::store::{Connection, Row, values};
use crate::tree::{Path, Tip, place};

/// How many versions of a session's summary are kept.
pub const VERSIONS: u64 = 10;

/// A summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its version, from 1; given by the log.
    pub version: u64,
    /// It covers the messages behind this one,
    pub start: u64,
    /// up to and with this one.
    pub until: u64,
    /// The message it was made for: it is of use only while that one is there.
    pub target: Option<Id>,
    /// The generation it was made for.
    pub generation: Option<u64>,
    /// What it says.
    pub text: String,
    /// Its tokens.
    pub tokens: usize,
    /// The tokens of what it covers.
    pub original_tokens: usize,
    /// When it was made, in milliseconds since 1970; given by the log if it is 0.
    pub time: i64,
}

impl Summary {
    /// How many messages it covers.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        self.until.saturating_sub(self.start)
    }

    /// The share of tokens that it saves: 1 − summary / original.
    #[must_use]
    pub fn compression_rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let (made, original) = (self.tokens as f64, self.original_tokens as f64);
        if original > 0.0 { 1.0 - made / original } else { 0.0 }
    }
}

impl Log {
    /// Stores a summary of a session's messages and gives it its version. A summary that is there
    /// already, word for word, is not stored again.
    ///
    /// # Errors
    /// When the session has no such messages.
    pub fn summarise(&self, session: &str, summary: Summary) -> Result<Summary> {
        let (id, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            let session = session::hold(connection, &id)?;
            let path = Path::of(connection, session.tip)?;
            let until = path.at(summary.until).filter(|_| summary.start < summary.until).ok_or_else(|| {
                LogError::Refused(format!("session {id} has no messages {} to {}", summary.start + 1, summary.until))
            })?;
            let same = "SELECT version, created FROM summary WHERE session = $1 AND branch = $2 AND position = $3 AND text = $4";
            if let Some(row) = connection.row(same, values![&id, until.branch, until.position, &summary.text])? {
                return Ok(Summary { version: row.count(0), time: row.int(1), ..summary.clone() });
            }
            let newest = connection.number("SELECT MAX(version) FROM summary WHERE session = $1", values![&id])?;
            let time = if summary.time == 0 { now } else { summary.time };
            let made = Summary { version: u64::try_from(newest).unwrap_or_default() + 1, time, ..summary.clone() };
            let sql = "INSERT INTO summary (session, version, start, branch, position, target, generation, text, tokens, \
                       original_tokens, created) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
            let values = values![
                &id, made.version, made.start, until.branch, until.position, made.target, made.generation, &made.text,
                made.tokens, made.original_tokens,
                made.time
            ];
            connection.run(sql, values)?;
            let sql = "DELETE FROM summary WHERE session = $1 AND version <= $2";
            connection.run(sql, values![&id, made.version.saturating_sub(VERSIONS)])?;
            Ok(made)
        })
    }

    /// The newest summary that holds where the session stands, its own or one of a session it was
    /// forked from: what it covers is still said, and so is what it was made for.
    ///
    /// # Errors
    /// When there is no such session.
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

    /// All versions that are kept, newest first, whether they hold or not.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn summaries(&self, session: &str) -> Result<Vec<Summary>> {
        self.read(|connection| {
            session::load(connection, session)?;
            let sql =
                format!("SELECT {COLUMNS} FROM summary WHERE session = $1 ORDER BY version DESC");
            Ok(connection.rows(&sql, values![session])?.into_iter().map(of).collect())
        })
    }
}

/// The newest version that holds on a way.
fn newest(connection: &mut dyn Connection, session: &str, path: &Path) -> Result<Option<Summary>> {
    let sql = format!("SELECT {COLUMNS} FROM summary WHERE session = $1 ORDER BY version DESC");
    for row in connection.rows(&sql, values![session])? {
        let tip = Tip { branch: row.int(9), position: row.count(2) };
        let summary = of(row);
        let target = match summary.target {
            Some(target) => place(connection, target)?.is_some_and(|target| path.contains(target)),
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
