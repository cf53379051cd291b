//! The lease of a session: one holder at a time works in it, on whatever machine. It is taken by
//! compare-and-set, ends by itself after a time, and carries a number that grows with each holder,
//! so that a write of an earlier one is refused.

use std::time::Duration;

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::store::{Connection, Row, values};

/// The right to work in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// The session.
    pub session: String,
    /// Who holds it, in the holder's own words.
    pub holder: String,
    /// Grows each time the lease changes hands: the fencing token.
    pub token: i64,
    /// When it ends unless it is renewed, in milliseconds since 1970 by the clock of the log.
    pub expires: i64,
}

impl Log {
    /// Takes the lease of a session for some time, if it is free or has expired.
    ///
    /// # Errors
    /// [`LogError::Leased`] when somebody else holds it.
    pub fn take_lease(&self, session: &str, holder: &str, time: Duration) -> Result<Lease> {
        let wanted = LeaseRequest::new(session, holder, time);
        let clock = self.clock();
        self.write(move |connection| {
            let now = now(connection, clock)?;
            match held(connection, &wanted.session)? {
                Some(held) if held.blocks(now) => Err(held.refusal()),
                held => wanted.take(connection, held, now),
            }
        })
    }

    /// Takes the lease of a session over from a holder that is known to be gone, before it expires.
    /// The token is that of the lease to be replaced.
    ///
    /// # Errors
    /// [`LogError::Leased`] when it has changed hands meanwhile.
    pub fn take_over(
        &self,
        session: &str,
        token: i64,
        holder: &str,
        time: Duration,
    ) -> Result<Lease> {
        let wanted = LeaseRequest::new(session, holder, time);
        let clock = self.clock();
        self.write(move |connection| {
            let now = now(connection, clock)?;
            match held(connection, &wanted.session)? {
                Some(held) if held.lease.token != token && held.blocks(now) => Err(held.refusal()),
                held => wanted.take(connection, held, now),
            }
        })
    }

    /// Keeps a lease for some more time.
    ///
    /// # Errors
    /// [`LogError::LeaseLost`] when somebody else has taken it.
    pub fn renew_lease(&self, lease: &Lease, time: Duration) -> Result<()> {
        let (lease, time, clock) = (lease.clone(), millis(time), self.clock());
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

    /// Gives a lease back. One that somebody else has taken meanwhile is left alone.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn release_lease(&self, lease: &Lease) -> Result<()> {
        let lease = lease.clone();
        self.write(move |connection| {
            // The row stays, because its number must go on growing.
            let sql = "UPDATE lease SET expires = 0, holder = '' WHERE session = $1 AND token = $2";
            connection.run(sql, values![&lease.session, lease.token]).map(drop)
        })
    }

    /// Refuses what a holder does after another one has taken the lease. In one transaction with
    /// what it guards ([`AsyncLog::write`](crate::AsyncLog::write)): whoever wants to take the
    /// lease waits until that is committed.
    ///
    /// # Errors
    /// [`LogError::LeaseLost`] when somebody else has taken it.
    pub fn check_lease(&self, lease: &Lease) -> Result<()> {
        let lease = lease.clone();
        self.write(move |connection| {
            // One that has only expired, or was given back, is still the last one: nobody else has
            // begun anything.
            match held(connection, &lease.session)? {
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
        before: Option<Held>,
        now: i64,
    ) -> Result<Lease> {
        let (session, holder, length) = (&self.session, &self.holder, self.time);
        let expires = now.saturating_add(length);
        let (sql, token) = match before {
            Some(before) => (
                "UPDATE lease SET holder = $2, token = $3, expires = $4, length = $5 WHERE session = $1",
                before.lease.token + 1,
            ),
            // Two who are the first at the same time meet in the key of the row.
            None => (
                "INSERT INTO lease (session, holder, token, expires, length) VALUES ($1, $2, $3, $4, $5)",
                1,
            ),
        };
        connection.run(sql, values![session, holder, token, expires, length])?;
        Ok(Lease { session: session.clone(), holder: holder.clone(), token, expires })
    }
}

struct Held {
    lease: Lease,
    /// For how long it was taken, in milliseconds.
    length: i64,
}

impl Held {
    fn refusal(self) -> LogError {
        let Lease { session, holder, token, .. } = self.lease;
        LogError::Leased { session, holder, token }
    }

    /// Whether it keeps others out. A clock that was set back must not make that last: an end that
    /// is more than two lengths away was written by another time.
    fn blocks(&self, now: i64) -> bool {
        let left = self.lease.expires.saturating_sub(now);
        left > 0 && left <= self.length.saturating_mul(2)
    }
}

/// The lease as it is; other writers wait until this transaction is over.
fn held(connection: &mut dyn Connection, session: &str) -> Result<Option<Held>> {
    let hold = connection.dialect().hold();
    let sql = format!("SELECT holder, token, expires, length FROM lease WHERE session = $1 {hold}");
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

/// The time by which leases end: a server's own, because the clocks of the machines that share it
/// differ.
fn now(connection: &mut dyn Connection, clock: fn() -> i64) -> Result<i64> {
    match connection.dialect().server_time() {
        Some(sql) => connection.number(sql, &[]),
        None => Ok(clock()),
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
