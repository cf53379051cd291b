//! What each model call took: tokens, price, time.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::log::Log;
use crate::session::Relation;
use crate::store::{Connection, Row, values};

/// One model call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// How many messages the session had after it.
    pub position: u64,
    /// The model.
    pub model: String,
    /// Tokens of the prompt that no cache served.
    pub input: u64,
    /// Tokens of the prompt that the cache served.
    pub cache_read: u64,
    /// Tokens of the prompt that were written to the cache.
    pub cache_write: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// The price in millionths, where it is known.
    pub price: Option<i64>,
    /// How long it took, in milliseconds.
    pub latency: Option<i64>,
    /// When, in milliseconds since 1970; given by the log if it is 0.
    pub time: i64,
}

const COLUMNS: &str =
    "position, model, input, cache_read, cache_write, output, price, latency, created";

impl Log {
    /// Writes down what a call took.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn record_usage(&self, session: &str, call: Usage) -> Result<()> {
        let (session, now) = (session.to_owned(), self.now());
        self.write(move |connection| {
            crate::session::hold(connection, &session)?;
            let time = if call.time == 0 { now } else { call.time };
            insert(connection, &session, &Usage { time, ..call.clone() })
        })
    }

    /// Writes down calls that another program recorded; one at a place where a call is known is not
    /// added again, but may have gone on since.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn note_usage(&self, session: &str, calls: Vec<Usage>) -> Result<u64> {
        let session = session.to_owned();
        self.write(move |connection| {
            crate::session::hold(connection, &session)?;
            let known = of_session(connection, &session)?;
            let mut added = 0;
            for call in &calls {
                match known.iter().find(|other| other.position == call.position) {
                    None => {
                        insert(connection, &session, call)?;
                        added += 1;
                    }
                    Some(other) if other.output < call.output => grow(connection, &session, call)?,
                    Some(_) => {}
                }
            }
            Ok(added)
        })
    }

    /// The newest call of a session.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn last_usage(&self, session: &str) -> Result<Option<Usage>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM usage WHERE session = $1 ORDER BY number DESC LIMIT 1"
            );
            Ok(connection.row(&sql, values![session])?.map(of))
        })
    }

    /// The calls of a session, oldest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn usage(&self, session: &str) -> Result<Vec<Usage>> {
        self.read(|connection| of_session(connection, session))
    }

    /// The calls of those who work for a session: its sub-agents, the roles that went on for it,
    /// and theirs; each with how its session stands to the one above. A fork works for itself.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn usage_below(&self, session: &str) -> Result<Vec<(Relation, Usage)>> {
        let fork = Relation::Fork.name();
        let sql = format!(
            "WITH RECURSIVE below (id, relation) AS (\
               SELECT id, relation FROM session WHERE parent = $1 AND relation <> '{fork}' \
               UNION SELECT s.id, s.relation FROM below b JOIN session s ON s.parent = b.id WHERE s.relation <> '{fork}') \
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

/// An answer that was not finished when its call was written down took more in the end.
fn grow(connection: &mut dyn Connection, session: &str, usage: &Usage) -> Result<()> {
    let sql = "UPDATE usage SET input = $1, cache_read = $2, cache_write = $3, output = $4, created = $5 \
               WHERE session = $6 AND position = $7";
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

/// Puts what a call took behind the others.
pub(crate) fn insert(connection: &mut dyn Connection, session: &str, usage: &Usage) -> Result<()> {
    // The index answers this at once; an aggregate in an expression would read all rows.
    let sql = "SELECT number FROM usage WHERE session = $1 ORDER BY number DESC LIMIT 1";
    let newest = connection.rows(sql, values![session])?.first().map_or(0, |row| row.count(0));
    let made = insert_as(connection, session, newest + 1, usage)?;
    if made { Ok(()) } else { Err(connection.race()) }
}

/// Puts what a call took under a number; `false` when that is taken.
pub(crate) fn insert_as(
    connection: &mut dyn Connection,
    session: &str,
    number: u64,
    usage: &Usage,
) -> Result<bool> {
    let sql = format!(
        "INSERT INTO usage (session, number, {COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
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

fn of(mut row: Row) -> Usage {
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
