//! A lease of a session, renewed while it is held and released when dropped. The log grants and
//! checks leases; the caller decides whether an earlier holder has exited.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::AbortHandle;
use waterline_log::{AsyncLog, Lease, Log, LogError};

use crate::error::SessionError;

/// How long a lease lasts without renewal: for this long a machine that died blocks its session.
const LEASE_TIME: Duration = Duration::from_secs(30);

/// How often the lease is renewed. Two renewals may fail.
const RENEW_INTERVAL: Duration = Duration::from_secs(10);

/// An exclusive lease of a session, across machines. It is released when this is dropped.
#[derive(Debug)]
pub struct HeldLease {
    lease: Arc<Lease>,
    log: AsyncLog,
    renewal: AbortHandle,
}

impl HeldLease {
    /// Takes the lease of a session. `gone` gets the description of an earlier holder. If that
    /// holder has exited, `gone` returns a proof, which is kept until the lease is taken over;
    /// otherwise the holder keeps the lease until it expires.
    ///
    /// # Errors
    /// [`LogError::Leased`] if another holder has the lease.
    pub async fn take<T: Send>(
        log: AsyncLog,
        session: &str,
        holder: &str,
        gone: impl FnOnce(&str) -> Option<T> + Send,
    ) -> Result<Self, SessionError> {
        let id = session.to_owned();
        let name = holder.to_owned();
        let lease = match log.run(move |log| log.take_lease(&id, &name, LEASE_TIME)).await {
            Err(LogError::Leased { session, holder: other, token }) => {
                let Some(proof) = gone(&other) else {
                    return Err(LogError::Leased { session, holder: other, token }.into());
                };
                let name = holder.to_owned();
                let taken =
                    log.run(move |log| log.take_over(&session, token, &name, LEASE_TIME)).await;
                drop(proof);
                taken?
            }
            taken => taken?,
        };
        let lease = Arc::new(lease);
        let renewal = tokio::spawn(renew(log.clone(), Arc::clone(&lease))).abort_handle();
        Ok(Self { lease, log, renewal })
    }

    /// Returns the fence that writes are checked against while this is held.
    #[must_use]
    pub fn fence(&self) -> Fence {
        Fence(Arc::downgrade(&self.lease))
    }
}

/// Refuses writes after another process has taken a lease. The default fence, and one whose lease
/// was released, refuses nothing.
#[derive(Clone, Debug, Default)]
pub struct Fence(Weak<Lease>);

impl Fence {
    /// Checks the lease. Call it in the transaction of the write ([`AsyncLog::write`]).
    ///
    /// # Errors
    /// [`LogError::LeaseLost`] if another process has taken the lease.
    pub fn check(&self, log: &Log) -> waterline_log::Result<()> {
        self.0.upgrade().map_or(Ok(()), |lease| log.check_lease(&lease))
    }
}

async fn renew(log: AsyncLog, lease: Arc<Lease>) {
    loop {
        tokio::time::sleep(RENEW_INTERVAL).await;
        let current = Arc::clone(&lease);
        match log.run(move |log| log.renew_lease(&current, LEASE_TIME)).await {
            // Writes are rejected from now on, so there is no point in renewing.
            Err(LogError::LeaseLost { .. }) => return,
            Err(error) => {
                tracing::warn!(target: "waterline::lease", %error, "could not renew a lease")
            }
            Ok(()) => {}
        }
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.renewal.abort();
        let lease = Arc::clone(&self.lease);
        self.log.detach_now(move |log| {
            if let Err(error) = log.release_lease(&lease) {
                tracing::warn!(
                    target: "waterline::lease",
                    %error,
                    "could not release a lease; it will expire"
                );
            }
        });
    }
}
