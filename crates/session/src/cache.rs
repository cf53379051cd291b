//! Estimates whether the provider still has the prompt in its cache. If not, a fold is cheaper than
//! at any other time.

use crate::live::LiveSession;

/// The assumed lifetime of a cache entry, in seconds.
const DEFAULT_LIFE: u64 = 300;

impl LiveSession {
    /// Whether the cache is cold: the prompt was never sent, another model answered last, or the
    /// entry has expired.
    pub(crate) fn is_cold(&self) -> bool {
        let Some(last) = &self.last_call else { return true };
        let life = if self.model.cache_life == 0 { DEFAULT_LIFE } else { self.model.cache_life };
        let age = u64::try_from(self.log.now().saturating_sub(last.time)).unwrap_or_default();
        last.model != self.model().name || age > life.saturating_mul(1_000)
    }
}
