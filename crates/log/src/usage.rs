//! Tokens, price and latency of each model call.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::log::Log;
use crate::session::Relation;
use crate::store::{Connection, Row, values};

/// The usage of one model call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// How many messages the session had after the call.
    pub position: u64,
    /// The model that was called.
    pub model: String,
    /// Prompt tokens that were not cached.
    pub input: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache.
    pub cache_write: u64,
    /// Output tokens.
    pub output: u64,
    /// The price in millionths of the currency unit, if known.
    pub price: Option<i64>,
    /// The duration in milliseconds.
    pub latency: Option<i64>,
    /// The time of the call, in milliseconds since 1970. If it is 0, the log sets it.
    pub time: i64,
}

/// The columns that [`of`] reads.
pub(crate) const COLUMNS: &str =
    "position, model, input, cache_read, cache_write, output, price, latency, created";

impl Log {
    /// Stores the usage of a call.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn record_usage(&self, session: &str, call: Usage) -> Result<()> {
        let session = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            crate::session::lock(connection, &session)?;
            let time = if call.time == 0 { now } else { call.time };
            insert(connection, &session, &Usage { time, ..call.clone() })
        })
    }

    /// Stores the usage of calls that another program recorded, and returns how many were new. A
    /// call with the position of a stored call is not added; it updates the stored call if its
    /// output has grown since.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn note_usage(&self, session: &str, calls: Vec<Usage>) -> Result<u64> {
        let session = session.to_owned();
        self.write(move |connection| {
            crate::session::lock(connection, &session)?;
            let known = of_session(connection, &session)?;
            let mut added = 0;
            for call in &calls {
                match known.iter().find(|other| other.position == call.position) {
                    None => {
                        insert(connection, &session, call)?;
                        added += 1;
                    }
                    Some(other) if other.output < call.output => {
                        update(connection, &session, call)?
                    }
                    Some(_) => {}
                }
            }
            Ok(added)
        })
    }

    /// Returns the newest call of a session.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn last_usage(&self, session: &str) -> Result<Option<Usage>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM usage WHERE session = $1 ORDER BY number DESC LIMIT 1"
            );
            Ok(connection.row(&sql, values![session])?.map(of))
        })
    }

    /// Returns the calls of a session, oldest first.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn usage(&self, session: &str) -> Result<Vec<Usage>> {
        self.read(|connection| of_session(connection, session))
    }

    /// Returns the calls of all sessions below a session, at any depth: its sub-agents and the
    /// roles it handed off to. Each comes with the relation of its session to its parent. Forks are
    /// not included.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn usage_below(&self, session: &str) -> Result<Vec<(Relation, Usage)>> {
        let fork = Relation::Fork.name();
        let sql = format!(
            "WITH RECURSIVE below (id, relation) AS (\
               SELECT id, relation FROM session WHERE parent = $1 AND relation <> '{fork}' \
               UNION SELECT s.id, s.relation FROM below b JOIN session s ON s.parent = b.id \
               WHERE s.relation <> '{fork}') \
             SELECT {COLUMNS}, relation FROM below JOIN usage ON session = id ORDER BY id, number"
        );
        self.read(|connection| {
            let call = |mut row: Row| (Relation::named(&row.text(9)), of(row));
            Ok(connection.rows(&sql, values![session])?.into_iter().map(call).collect())
        })
    }
}

pub(crate) fn of_session(connection: &mut dyn Connection, session: &str) -> Result<Vec<Usage>> {
    let sql = format!("SELECT {COLUMNS} FROM usage WHERE session = $1 ORDER BY number");
    Ok(connection.rows(&sql, values![session])?.into_iter().map(of).collect())
}

/// Updates a call that was recorded before its output was complete.
fn update(connection: &mut dyn Connection, session: &str, usage: &Usage) -> Result<()> {
    let sql = "UPDATE usage SET input = $1, cache_read = $2, cache_write = $3, output = $4, \
               created = $5 WHERE session = $6 AND position = $7";
    let values = values![
        usage.input,
        usage.cache_read,
        usage.cache_write,
        usage.output,
        usage.time,
        session,
        usage.position
    ];
    connection.run(sql, values).map(drop)
}

/// Inserts a call after the other calls of its session.
pub(crate) fn insert(connection: &mut dyn Connection, session: &str, usage: &Usage) -> Result<()> {
    // The index answers this directly; an aggregate in an expression would read all rows.
    let sql = "SELECT number FROM usage WHERE session = $1 ORDER BY number DESC LIMIT 1";
    let newest = connection.rows(sql, values![session])?.first().map_or(0, |row| row.count(0));
    let is_new = insert_as(connection, session, newest + 1, usage)?;
    if is_new { Ok(()) } else { Err(connection.race()) }
}

/// Inserts a call under a number. Returns `false` if the number is taken.
pub(crate) fn insert_as(
    connection: &mut dyn Connection,
    session: &str,
    number: u64,
    usage: &Usage,
) -> Result<bool> {
    let sql = format!(
        "INSERT INTO usage (session, number, {COLUMNS}) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
         ON CONFLICT (session, number) DO NOTHING"
    );
    let values = values![
        session,
        number,
        usage.position,
        &usage.model,
        usage.input,
        usage.cache_read,
        usage.cache_write,
        usage.output,
        usage.price,
        usage.latency,
        usage.time
    ];
    Ok(connection.run(&sql, values)? == 1)
}

pub(crate) fn of(mut row: Row) -> Usage {
    Usage {
        position: row.count(0),
        model: row.text(1),
        input: row.count(2),
        cache_read: row.count(3),
        cache_write: row.count(4),
        output: row.count(5),
        price: row.maybe_int(6),
        latency: row.maybe_int(7),
        time: row.int(8),
    }
}
