//! Session leases: one holder at a time works in a session, on any machine. A lease is taken by
//! compare-and-set and expires. Its fencing token grows with each holder, so that writes of an
//! earlier holder are refused.

use std::time::Duration;

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::store::{Connection, Row, values};

/// The exclusive right to work in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// The id of the session that is held.
    pub session: String,
    /// The holder, as passed to [`Log::take_lease`].
    pub holder: String,
    /// The fencing token. It grows each time the lease changes hands.
    pub token: i64,
    /// When the lease expires unless it is renewed, in milliseconds since 1970. PostgreSQL uses the
    /// server's clock, SQLite the log's.
    pub expires: i64,
}

impl Log {
    /// Takes the lease of a session for `time` if it is free or has expired.
    ///
    /// # Errors
    /// [`LogError::Leased`] if another holder has it, [`LogError::NoSession`] if the session does
    /// not exist.
    pub fn take_lease(&self, session: &str, holder: &str, time: Duration) -> Result<Lease> {
        let request = LeaseRequest::new(session, holder, time);
        let clock = self.clock();
        self.write(move |connection| {
            let now = now(connection, clock)?;
            match load(connection, &request.session)? {
                Some(held) if held.is_active(now) => Err(held.refusal()),
                held => request.take(connection, held, now),
            }
        })
    }

    /// Takes over the lease of a session before it expires, from a holder that is known to be dead.
    /// `token` is the token of that holder's lease.
    ///
    /// # Errors
    /// [`LogError::Leased`] if the lease has changed hands since.
    pub fn take_over(
        &self,
        session: &str,
        token: i64,
        holder: &str,
        time: Duration,
    ) -> Result<Lease> {
        let request = LeaseRequest::new(session, holder, time);
        let clock = self.clock();
        self.write(move |connection| {
            let now = now(connection, clock)?;
            match load(connection, &request.session)? {
                Some(held) if held.lease.token != token && held.is_active(now) => {
                    Err(held.refusal())
                }
                held => request.take(connection, held, now),
            }
        })
    }

    /// Extends a lease: it now expires after `time`.
    ///
    /// # Errors
    /// [`LogError::LeaseLost`] if another holder has taken it.
    pub fn renew_lease(&self, lease: &Lease, time: Duration) -> Result<()> {
        let lease = lease.clone();
        let time = millis(time);
        let clock = self.clock();
        self.write(move |connection| {
            let until = now(connection, clock)?.saturating_add(time);
            let sql =
                "UPDATE lease SET expires = $1, length = $2 WHERE session = $3 AND token = $4";
            match connection.run(sql, values![until, time, &lease.session, lease.token])? {
                0 => Err(lost(&lease)),
                _ => Ok(()),
            }
        })
    }

    /// Releases a lease. Does nothing if another holder has taken it.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn release_lease(&self, lease: &Lease) -> Result<()> {
        let lease = lease.clone();
        self.write(move |connection| {
            // Keep the row: its token must keep growing.
            let sql = "UPDATE lease SET expires = 0, holder = '' WHERE session = $1 AND token = $2";
            connection.run(sql, values![&lease.session, lease.token]).map(drop)
        })
    }

    /// Checks that no other holder has taken the lease. Call it in the same transaction as the
    /// writes that it guards ([`AsyncLog::write`](crate::AsyncLog::write)): others cannot take the
    /// lease until the transaction ends.
    ///
    /// # Errors
    /// [`LogError::LeaseLost`] if another holder has taken it.
    pub fn check_lease(&self, lease: &Lease) -> Result<()> {
        let lease = lease.clone();
        self.write(move |connection| {
            // A lease that expired or was released is still valid here while no other holder has
            // taken it.
            match load(connection, &lease.session)? {
                Some(held) if held.lease.token == lease.token => Ok(()),
                _ => Err(lost(&lease)),
            }
        })
    }
}

fn lost(lease: &Lease) -> LogError {
    LogError::LeaseLost { session: lease.session.clone() }
}

struct LeaseRequest {
    session: String,
    holder: String,
    time: i64,
}

impl LeaseRequest {
    fn new(session: &str, holder: &str, time: Duration) -> Self {
        Self { session: session.to_owned(), holder: holder.to_owned(), time: millis(time) }
    }

    fn take(
        &self,
        connection: &mut dyn Connection,
        previous: Option<Held>,
        now: i64,
    ) -> Result<Lease> {
        let expires = now.saturating_add(self.time);
        let (sql, token) = match previous {
            Some(previous) => (
                "UPDATE lease SET holder = $2, token = $3, expires = $4, length = $5 \
                 WHERE session = $1",
                previous.lease.token + 1,
            ),
            // The lease of a session that does not exist could never be released by erasing it.
            None if !exists(connection, &self.session)? => {
                return Err(LogError::NoSession { id: self.session.clone() });
            }
            // If two holders insert the first row at the same time, the primary key lets only one
            // succeed.
            None => (
                "INSERT INTO lease (session, holder, token, expires, length) \
                 VALUES ($1, $2, $3, $4, $5)",
                1,
            ),
        };
        connection.run(sql, values![&self.session, &self.holder, token, expires, self.time])?;
        Ok(Lease { session: self.session.clone(), holder: self.holder.clone(), token, expires })
    }
}

struct Held {
    lease: Lease,
    /// The duration it was taken for, in milliseconds.
    length: i64,
}

impl Held {
    fn refusal(self) -> LogError {
        let Lease { session, holder, token, .. } = self.lease;
        LogError::Leased { session, holder, token }
    }

    /// Returns whether the lease excludes others. If it expires more than twice its duration from
    /// now, the clock was set back; such a lease must not block.
    fn is_active(&self, now: i64) -> bool {
        let left = self.lease.expires.saturating_sub(now);
        left > 0 && left <= self.length.saturating_mul(2)
    }
}

/// Loads the lease of a session and locks its row until the transaction ends.
fn load(connection: &mut dyn Connection, session: &str) -> Result<Option<Held>> {
    let for_update = connection.dialect().for_update();
    let sql =
        format!("SELECT holder, token, expires, length FROM lease WHERE session = $1 {for_update}");
    let row = connection.row(&sql, values![session])?;
    let of = |mut row: Row| Held {
        lease: Lease {
            session: session.to_owned(),
            holder: row.text(0),
            token: row.int(1),
            expires: row.int(2),
        },
        length: row.int(3),
    };
    Ok(row.map(of))
}

fn exists(connection: &mut dyn Connection, session: &str) -> Result<bool> {
    let sql = "SELECT COUNT(*) FROM session WHERE id = $1";
    Ok(connection.number(sql, values![session])? > 0)
}

/// Returns the time that leases use: the server's, if there is one, because the clocks of its
/// clients differ.
fn now(connection: &mut dyn Connection, clock: fn() -> i64) -> Result<i64> {
    match connection.dialect().server_time() {
        Some(sql) => connection.number(sql, &[]),
        None => Ok(clock()),
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
