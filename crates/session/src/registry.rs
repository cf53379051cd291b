//! The sessions that a server keeps in memory. One caller at a time uses each, their number is
//! limited, and idle ones are dropped. The log keeps all sessions: entering one again resumes it.
//!
//! While a session is in use, the server holds its lease in the log, so that servers on several
//! machines do not work in the same session at once.

use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    state: Arc<SlotState>,
}

#[derive(Default)]
struct SlotState {
    /// When it was last used, in milliseconds since the registry was created.
    used: AtomicU64,
    /// Whether the session is in memory. Otherwise callers are about to load it.
    loaded: AtomicBool,
}

impl Slot {
    fn in_use(&self) -> bool {
        // Session locks are cloned only under the registry's lock, so the count cannot grow here.
        Arc::strong_count(&self.live) > 1
    }

    fn is_loaded(&self) -> bool {
        self.state.loaded.load(Ordering::Relaxed)
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
        self.shared.slots().values().filter(|slot| slot.is_loaded()).count()
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
        let slot = self.slot(session);
        // The order is lock, permit, lease. Callers that wait for a busy session need no permit, so
        // that others can use theirs. The lease comes last: other servers wait for it.
        let live = slot.lock().lock_owned().await;
        let permit = self.permit().await?;
        let lease = loop {
            match self.lease(session).await? {
                Some(lease) => break lease,
                None => tokio::time::sleep(LEASE_INTERVAL).await,
            }
        };
        self.open(Entering { lease, live, slot, permit }, config).await
    }

    /// Enters a session if no other caller uses it and the registry is not full of sessions in use.
    /// It does not wait for other callers.
    ///
    /// # Errors
    /// As [`Sessions::enter`].
    pub async fn try_enter(
        &self,
        session: &str,
        config: SessionConfig,
    ) -> Result<Option<SessionGuard>, SessionError> {
        let slot = self.slot(session);
        let Ok(live) = slot.lock().try_lock_owned() else { return Ok(None) };
        let Ok(permit) = Arc::clone(&self.shared.permits).try_acquire_owned() else {
            return Ok(None);
        };
        let Some(lease) = self.lease(session).await? else { return Ok(None) };
        self.open(Entering { lease, live, slot, permit }, config).await.map(Some)
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, SessionError> {
        let permit = Arc::clone(&self.shared.permits).acquire_owned().await;
        permit.map_err(|_| SessionError::Ending)
    }

    /// Takes the lease of a session; `None` if another process has it. The caller holds the
    /// session's lock, so a lease that this registry still has was left by an earlier caller and is
    /// taken over.
    async fn lease(&self, session: &str) -> Result<Option<HeldLease>, SessionError> {
        let holder = &self.shared.holder;
        let own = |other: &str| (other == holder).then_some(());
        match HeldLease::take(self.log.clone(), session, holder, own).await {
            Err(SessionError::Log(LogError::Leased { .. })) => Ok(None),
            taken => taken.map(Some),
        }
    }

    /// Enters a session, or a fork of its stored state if another caller uses it. It waits while
    /// the registry is full of sessions in use.
    ///
    /// # Errors
    /// As [`Sessions::enter`].
    pub async fn enter_or_fork(
        &self,
        session: &str,
        config: SessionConfig,
    ) -> Result<SessionGuard, SessionError> {
        let slot = self.slot(session);
        if let Ok(live) = slot.lock().try_lock_owned() {
            let permit = self.permit().await?;
            if let Some(lease) = self.lease(session).await? {
                return self.open(Entering { lease, live, slot, permit }, config).await;
            }
        }
        let id = session.to_owned();
        let fork = self.log.run(move |log| log.fork(&id, None, None)).await?;
        self.enter(&fork.id, config).await
    }

    /// Drops idle sessions. Entering a session does so too.
    pub fn sweep(&self) {
        self.shared.sweep(self.shared.capacity);
    }

    fn slot(&self, session: &str) -> SlotUse {
        let shared = &self.shared;
        let mut slots = shared.slots();
        let slot = slots
            .entry(session.to_owned())
            .or_insert_with(|| Slot { live: Lock::default(), state: Arc::default() });
        slot.state.used.store(shared.now(), Ordering::Relaxed);
        SlotUse {
            session: session.to_owned(),
            live: Arc::clone(&slot.live),
            state: Arc::clone(&slot.state),
            shared: Arc::clone(shared),
        }
    }

    async fn open(
        &self,
        entering: Entering,
        config: SessionConfig,
    ) -> Result<SessionGuard, SessionError> {
        // Dropped in the reverse order.
        let Entering { permit, slot, mut live, lease } = entering;
        match live.as_mut() {
            Some(live) if live.accepts(&config) => {
                live.hand_over(config);
                live.work_under(lease.fence());
                live.reload_if_interrupted().await?;
                live.load_foreign_changes().await?;
            }
            _ => {
                if !slot.state.loaded.load(Ordering::Relaxed) {
                    // Its lease was granted, so the session exists: it may replace another one.
                    self.shared.sweep(self.shared.capacity - 1);
                }
                let opened = LiveSession::open(self.log.clone(), &slot.session, config).await?;
                live.insert(opened).work_under(lease.fence());
                slot.state.loaded.store(true, Ordering::Relaxed);
            }
        }
        let live =
            OwnedMutexGuard::try_map(live, Option::as_mut).map_err(|_| SessionError::Ending)?;
        Ok(SessionGuard { _lease: lease, live, slot, _permit: permit })
    }
}

/// What a caller holds while it enters a session.
struct Entering {
    lease: HeldLease,
    live: OwnedMutexGuard<Option<LiveSession>>,
    slot: SlotUse,
    permit: OwnedSemaphorePermit,
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
        let age = |slot: &Slot| now.saturating_sub(slot.state.used.load(Ordering::Relaxed));
        let mut slots = self.slots();
        slots.retain(|_, slot| slot.in_use() || age(slot) < idle);
        let mut loaded = slots.values().filter(|slot| slot.is_loaded()).count();
        while loaded > limit {
            let unused = slots.iter().filter(|(_, slot)| slot.is_loaded() && !slot.in_use());
            let Some(id) = unused.max_by_key(|(_, slot)| age(slot)).map(|(id, _)| id.clone())
            else {
                return;
            };
            slots.remove(&id);
            loaded -= 1;
        }
    }
}

/// Exclusive access to a session. Other callers wait until this is dropped.
pub struct SessionGuard {
    /// Dropped first, so that the next caller finds the lease released or its own.
    _lease: HeldLease,
    live: OwnedMappedMutexGuard<Option<LiveSession>, LiveSession>,
    slot: SlotUse,
    _permit: OwnedSemaphorePermit,
}

/// A caller's use of a slot. When dropped, it updates the time of the last use, or removes a slot
/// that no caller loaded: a session that does not exist takes no place.
struct SlotUse {
    session: String,
    live: Lock,
    state: Arc<SlotState>,
    shared: Arc<Shared>,
}

impl SlotUse {
    fn lock(&self) -> Lock {
        Arc::clone(&self.live)
    }
}

impl Drop for SlotUse {
    fn drop(&mut self) {
        self.state.used.store(self.shared.now(), Ordering::Relaxed);
        if self.state.loaded.load(Ordering::Relaxed) {
            return;
        }
        let mut slots = self.shared.slots();
        // Only the registry and this caller refer to it, so no other caller waits for the session.
        if Arc::strong_count(&self.live) == 2 {
            slots.remove(&self.session);
        }
    }
}

impl fmt::Debug for SessionGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SessionGuard({}, at {})",
            self.session().id,
            self.slot.state.used.load(Ordering::Relaxed)
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
