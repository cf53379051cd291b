//! The sessions that a server keeps in memory. One caller at a time uses each, their number is
//! limited, and idle ones are dropped. The log keeps all sessions: entering one again resumes it.
//!
//! While a session is in use, the server holds its lease in the log, so that servers on several
//! machines do not work in the same session at once.

use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedMappedMutexGuard, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use waterline_log::{AsyncLog, LogError};

use crate::config::SessionConfig;
use crate::error::SessionError;
use crate::lease::HeldLease;
use crate::live::LiveSession;

/// How often a caller that waits for another server checks its lease.
const LEASE_INTERVAL: Duration = Duration::from_millis(200);

type Lock = Arc<tokio::sync::Mutex<Option<LiveSession>>>;

/// The sessions of a server. Cheap to clone: all clones share one registry.
#[derive(Clone)]
pub struct Sessions {
    pub(crate) log: AsyncLog,
    shared: Arc<Shared>,
}

struct Shared {
    slots: Mutex<HashMap<String, Slot>>,
    capacity: usize,
    idle: Duration,
    start: Instant,
    /// The name of this registry as the holder of leases.
    holder: String,
    /// One permit per session that may be in use at a time.
    permits: Arc<Semaphore>,
}

struct Slot {
    live: Lock,
    /// When it was last used, in milliseconds since the registry was created.
    used: Arc<AtomicU64>,
}

impl Slot {
    fn in_use(&self) -> bool {
        // Session locks are cloned only under the registry's lock, so the count cannot grow here.
        Arc::strong_count(&self.live) > 1
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sessions({:?}, {} of {} in memory)", self.log, self.len(), self.shared.capacity)
    }
}

impl Sessions {
    /// Creates a registry that keeps at most `capacity` sessions in memory, each until it has been
    /// idle for `idle`. Additional callers wait.
    pub fn new(log: impl Into<AsyncLog>, capacity: usize, idle: Duration) -> Self {
        let capacity = capacity.clamp(1, Semaphore::MAX_PERMITS);
        let shared = Shared {
            slots: Mutex::default(),
            capacity,
            idle,
            start: Instant::now(),
            holder: format!("server {}", waterline_log::new_id()),
            permits: Arc::new(Semaphore::new(capacity)),
        };
        Self { log: log.into(), shared: Arc::new(shared) }
    }

    /// Returns the log of the sessions.
    #[must_use]
    pub const fn log(&self) -> &AsyncLog {
        &self.log
    }

    /// Returns the number of sessions in memory.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.slots().len()
    }

    /// Whether no session is in memory.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Enters a session, and waits while another caller uses it, in this process or another one.
    /// The session uses `config` from now on.
    ///
    /// # Errors
    /// If the session does not exist, or the log cannot be read.
    pub async fn enter(
        &self,
        session: &str,
        config: SessionConfig,
    ) -> Result<SessionGuard, SessionError> {
        let (lock, used) = self.slot(session);
        let live = lock.lock_owned().await;
        let lease = loop {
            match self.lease(session).await? {
                Some(lease) => break lease,
                None => tokio::time::sleep(LEASE_INTERVAL).await,
            }
        };
        self.open(live, used, lease, session, config).await
    }

    /// Enters a session if no other caller uses it.
    ///
    /// # Errors
    /// As [`Sessions::enter`].
    pub async fn try_enter(
        &self,
        session: &str,
        config: SessionConfig,
    ) -> Result<Option<SessionGuard>, SessionError> {
        let (lock, used) = self.slot(session);
        let Ok(live) = lock.try_lock_owned() else { return Ok(None) };
        let Some(lease) = self.lease(session).await? else { return Ok(None) };
        self.open(live, used, lease, session, config).await.map(Some)
    }

    /// Takes the lease of a session; `None` if another process has it. The caller holds the lock of
    /// the session, so a lease of this registry is one that was not released yet.
    async fn lease(&self, session: &str) -> Result<Option<HeldLease>, SessionError> {
        let holder = &self.shared.holder;
        let own = |other: &str| (other == holder).then_some(());
        match HeldLease::take(self.log.clone(), session, holder, own).await {
            Err(SessionError::Log(LogError::Leased { .. })) => Ok(None),
            taken => taken.map(Some),
        }
    }

    /// Enters a session, or a fork of its stored state if another caller uses it.
    ///
    /// # Errors
    /// As [`Sessions::enter`].
    pub async fn enter_or_fork(
        &self,
        session: &str,
        config: SessionConfig,
    ) -> Result<SessionGuard, SessionError> {
        if let Some(entered) = self.try_enter(session, config.clone()).await? {
            return Ok(entered);
        }
        let id = session.to_owned();
        let fork = self.log.run(move |log| log.fork(&id, None, None)).await?;
        self.enter(&fork.id, config).await
    }

    /// Drops idle sessions. Entering a session does so too.
    pub fn sweep(&self) {
        self.shared.sweep(self.shared.capacity);
    }

    fn slot(&self, session: &str) -> (Lock, Arc<AtomicU64>) {
        let shared = &self.shared;
        if !shared.slots().contains_key(session) {
            shared.sweep(shared.capacity - 1);
        }
        let mut slots = shared.slots();
        let slot = slots
            .entry(session.to_owned())
            .or_insert_with(|| Slot { live: Lock::default(), used: Arc::default() });
        slot.used.store(shared.now(), Ordering::Relaxed);
        (Arc::clone(&slot.live), Arc::clone(&slot.used))
    }

    async fn open(
        &self,
        mut slot: OwnedMutexGuard<Option<LiveSession>>,
        used: Arc<AtomicU64>,
        lease: HeldLease,
        session: &str,
        config: SessionConfig,
    ) -> Result<SessionGuard, SessionError> {
        let permit = Arc::clone(&self.shared.permits)
            .acquire_owned()
            .await
            .map_err(|_| SessionError::Ending)?;
        match slot.as_mut() {
            Some(live) if live.accepts(&config) => {
                live.set_config(config);
                live.resync().await?;
                live.catch_up().await?;
            }
            _ => *slot = Some(LiveSession::open(self.log.clone(), session, config).await?),
        }
        let mut live =
            OwnedMutexGuard::try_map(slot, Option::as_mut).map_err(|_| SessionError::Ending)?;
        live.work_under(&lease);
        Ok(SessionGuard {
            _lease: lease,
            live,
            last_use: LastUse { used, shared: Arc::clone(&self.shared) },
            _permit: permit,
        })
    }
}

impl Shared {
    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<String, Slot>> {
        // No code panics while it holds this lock.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Drops idle sessions, then the least recently used ones until at most `limit` are left.
    /// Sessions in use stay.
    fn sweep(&self, limit: usize) {
        let now = self.now();
        let idle = u64::try_from(self.idle.as_millis()).unwrap_or(u64::MAX);
        let age = |slot: &Slot| now.saturating_sub(slot.used.load(Ordering::Relaxed));
        let mut slots = self.slots();
        slots.retain(|_, slot| slot.in_use() || age(slot) < idle);
        while slots.len() > limit {
            let unused = slots.iter().filter(|(_, slot)| !slot.in_use());
            let Some(id) = unused.max_by_key(|(_, slot)| age(slot)).map(|(id, _)| id.clone())
            else {
                return;
            };
            slots.remove(&id);
        }
    }
}

/// Exclusive access to a session. Other callers wait until this is dropped.
pub struct SessionGuard {
    /// Dropped first, so that the next caller finds the lease released or its own.
    _lease: HeldLease,
    live: OwnedMappedMutexGuard<Option<LiveSession>, LiveSession>,
    last_use: LastUse,
    _permit: OwnedSemaphorePermit,
}

/// Updates the time of the last use when dropped.
struct LastUse {
    used: Arc<AtomicU64>,
    shared: Arc<Shared>,
}

impl Drop for LastUse {
    fn drop(&mut self) {
        self.used.store(self.shared.now(), Ordering::Relaxed);
    }
}

impl fmt::Debug for SessionGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SessionGuard({}, at {})",
            self.session().id,
            self.last_use.used.load(Ordering::Relaxed)
        )
    }
}

impl Deref for SessionGuard {
    type Target = LiveSession;

    fn deref(&self) -> &LiveSession {
        &self.live
    }
}

impl DerefMut for SessionGuard {
    fn deref_mut(&mut self) -> &mut LiveSession {
        &mut self.live
    }
}
