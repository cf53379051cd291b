//! A lease of a session that is renewed while it is held and given back at the end. Taking it and
//! checking it is the log's work; whether an earlier holder is gone is for the caller to say.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::AbortHandle;
use waterline_log::{AsyncLog, Lease, LogError};

use crate::error::SessionError;

/// For how long a lease holds without being renewed: how long a machine that went away keeps a
/// session.
const TIME: Duration = Duration::from_secs(30);

/// How often it is renewed: two renewals may fail.
const RENEWAL: Duration = Duration::from_secs(10);

/// The right to work in a session, on whatever machine. It is given back when this is dropped.
#[derive(Debug)]
pub struct Held {
    lease: Arc<Lease>,
    log: AsyncLog,
    renewal: AbortHandle,
}

impl Held {
    /// Takes the lease of a session. `gone` looks at the words in which an earlier holder described
    /// itself: if it is known to have ended, what it returns is kept until the lease is taken over;
    /// if that is not known, the lease stays its own until it expires.
    ///
    /// # Errors
    /// [`LogError::Leased`] when somebody else holds it.
    pub async fn take<T: Send>(
        log: AsyncLog,
        session: &str,
        holder: &str,
        gone: impl FnOnce(&str) -> Option<T> + Send,
    ) -> Result<Self, SessionError> {
        let (id, name) = (session.to_owned(), holder.to_owned());
        let lease = match log.run(move |log| log.take_lease(&id, &name, TIME)).await {
            Err(LogError::Leased { session, holder: other, token }) => {
                let Some(proof) = gone(&other) else {
                    return Err(LogError::Leased { session, holder: other, token }.into());
                };
                let name = holder.to_owned();
                let taken = log.run(move |log| log.take_over(&session, token, &name, TIME)).await;
                drop(proof);
                taken?
            }
            taken => taken?,
        };
        let lease = Arc::new(lease);
        let renewal = tokio::spawn(renew(log.clone(), Arc::clone(&lease))).abort_handle();
        Ok(Self { lease, log, renewal })
    }

    /// What writes are checked against while this is held.
    pub(crate) fn fence(&self) -> Weak<Lease> {
        Arc::downgrade(&self.lease)
    }
}

async fn renew(log: AsyncLog, lease: Arc<Lease>) {
    loop {
        tokio::time::sleep(RENEWAL).await;
        let current = Arc::clone(&lease);
        match log.run(move |log| log.renew_lease(&current, TIME)).await {
            // Its writes are refused from now on: there is nothing left to renew.
            Err(LogError::LeaseLost { .. }) => return,
            Err(error) => {
                tracing::warn!(target: "waterline::lease", %error, "a lease was not renewed")
            }
            Ok(()) => {}
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.renewal.abort();
        let lease = Arc::clone(&self.lease);
        self.log.detach(move |log| {
            if let Err(error) = log.release_lease(&lease) {
                tracing::warn!(target: "waterline::lease", %error, "a lease was not given back; it expires by itself");
            }
        });
    }
}
