//! The sessions that a server has in memory: one caller at a time uses each, a bounded number is
//! kept, and those that are not used are dropped. The log keeps them all: a session is resumed when
//! it is entered again.

use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedMappedMutexGuard, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use waterline_log::AsyncLog;

use crate::config::SessionConfig;
use crate::error::SessionError;
use crate::live::LiveSession;

type Lock = Arc<tokio::sync::Mutex<Option<LiveSession>>>;

/// The sessions of a server. Cheap to clone: all clones are one registry.
#[derive(Clone)]
pub struct Sessions {
    pub(crate) log: AsyncLog,
    shared: Arc<Shared>,
}

struct Shared {
    slots: Mutex<HashMap<String, Slot>>,
    most: usize,
    idle: Duration,
    start: Instant,
    /// One permit for each session that may be in use at a time.
    room: Arc<Semaphore>,
}

struct Slot {
    live: Lock,
    /// When it was last used, in milliseconds since the registry began.
    used: Arc<AtomicU64>,
}

impl Slot {
    fn in_use(&self) -> bool {
        // Locks are cloned under the lock of the registry only, so nobody takes this one up
        // meanwhile.
        Arc::strong_count(&self.live) > 1
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sessions({:?}, {} of {} in memory)", self.log, self.len(), self.shared.most)
    }
}

impl Sessions {
    /// A registry that keeps at most `most` sessions in memory, each until it was not used for
    /// `idle`. More callers than that wait.
    pub fn new(log: impl Into<AsyncLog>, most: usize, idle: Duration) -> Self {
        let (most, slots, start) =
            (most.clamp(1, Semaphore::MAX_PERMITS), Mutex::default(), Instant::now());
        let room = Arc::new(Semaphore::new(most));
        Self { log: log.into(), shared: Arc::new(Shared { slots, most, idle, start, room }) }
    }

    /// The log of the sessions.
    #[must_use]
    pub const fn log(&self) -> &AsyncLog {
        &self.log
    }

    /// How many sessions are in memory.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.slots().len()
    }

    /// Whether none is in memory.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Enters a session, and waits while another caller uses it. It is held with this config from
    /// now on.
    ///
    /// # Errors
    /// When there is no such session, or the log cannot be read.
    pub async fn enter(
        &self,
        session: &str,
        config: SessionConfig,
    ) -> Result<Entered, SessionError> {
        let (lock, used) = self.slot(session);
        let live = lock.lock_owned().await;
        self.begin(live, used, session, config).await
    }

    /// Enters a session if nobody else uses it.
    ///
    /// # Errors
    /// As [`Sessions::enter`].
    pub async fn try_enter(
        &self,
        session: &str,
        config: SessionConfig,
    ) -> Result<Option<Entered>, SessionError> {
        let (lock, used) = self.slot(session);
        let Ok(live) = lock.try_lock_owned() else { return Ok(None) };
        self.begin(live, used, session, config).await.map(Some)
    }

    /// Enters a session; if another caller uses it, a fork of it as it is stored.
    ///
    /// # Errors
    /// As [`Sessions::enter`].
    pub async fn enter_or_fork(
        &self,
        session: &str,
        config: SessionConfig,
    ) -> Result<Entered, SessionError> {
        if let Some(entered) = self.try_enter(session, config.clone()).await? {
            return Ok(entered);
        }
        let id = session.to_owned();
        let fork = self.log.run(move |log| log.fork(&id, None, None)).await?;
        self.enter(&fork.id, config).await
    }

    /// Drops the sessions that were not used for long. Entering one does so too.
    pub fn sweep(&self) {
        self.shared.sweep(self.shared.most);
    }

    fn slot(&self, session: &str) -> (Lock, Arc<AtomicU64>) {
        let shared = &self.shared;
        if !shared.slots().contains_key(session) {
            shared.sweep(shared.most - 1);
        }
        let mut slots = shared.slots();
        let slot = slots
            .entry(session.to_owned())
            .or_insert_with(|| Slot { live: Lock::default(), used: Arc::default() });
        slot.used.store(shared.now(), Ordering::Relaxed);
        (Arc::clone(&slot.live), Arc::clone(&slot.used))
    }

    async fn begin(
        &self,
        mut slot: OwnedMutexGuard<Option<LiveSession>>,
        used: Arc<AtomicU64>,
        session: &str,
        config: SessionConfig,
    ) -> Result<Entered, SessionError> {
        let room = Arc::clone(&self.shared.room)
            .acquire_owned()
            .await
            .map_err(|_| SessionError::Ending)?;
        match slot.as_mut() {
            Some(live) if live.can_be_held_with(&config) => {
                live.hold_with(config);
                live.resync().await?;
                live.catch_up().await?;
            }
            _ => *slot = Some(LiveSession::open(self.log.clone(), session, config).await?),
        }
        let live =
            OwnedMutexGuard::try_map(slot, Option::as_mut).map_err(|_| SessionError::Ending)?;
        Ok(Entered {
            live,
            leaving: Leaving { used, shared: Arc::clone(&self.shared) },
            _room: room,
        })
    }
}

impl Shared {
    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<String, Slot>> {
        // Nothing panics under this lock.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Drops what was not used for long, then the longest unused ones until at most so many are
    /// left. Those that are in use stay.
    fn sweep(&self, most: usize) {
        let (now, idle) = (self.now(), u64::try_from(self.idle.as_millis()).unwrap_or(u64::MAX));
        let age = |slot: &Slot| now.saturating_sub(slot.used.load(Ordering::Relaxed));
        let mut slots = self.slots();
        slots.retain(|_, slot| slot.in_use() || age(slot) < idle);
        while slots.len() > most {
            let unused = slots.iter().filter(|(_, slot)| !slot.in_use());
            let Some(id) = unused.max_by_key(|(_, slot)| age(slot)).map(|(id, _)| id.clone())
            else {
                return;
            };
            slots.remove(&id);
        }
    }
}

/// A session that one caller uses. Others wait until this is dropped.
pub struct Entered {
    live: OwnedMappedMutexGuard<Option<LiveSession>, LiveSession>,
    leaving: Leaving,
    _room: OwnedSemaphorePermit,
}

/// Notes when a session was left.
struct Leaving {
    used: Arc<AtomicU64>,
    shared: Arc<Shared>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.used.store(self.shared.now(), Ordering::Relaxed);
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Entered({}, at {})",
            self.session().id,
            self.leaving.used.load(Ordering::Relaxed)
        )
    }
}

impl Deref for Entered {
    type Target = LiveSession;

    fn deref(&self) -> &LiveSession {
        &self.live
    }
}

impl DerefMut for Entered {
    fn deref_mut(&mut self) -> &mut LiveSession {
        &mut self.live
    }
}
