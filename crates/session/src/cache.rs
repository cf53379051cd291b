//! Whether the provider still has the prompt in its cache. When it has not, a fold costs less than
//! at any other time.

use crate::live::LiveSession;

/// How long a cache is taken to live where nobody says, in seconds.
const LIFE: u64 = 300;

impl LiveSession {
    /// Whether nothing of the prompt is cached any more: it was never sent, another model answered
    /// last, or its time is over.
    pub(crate) fn is_cold(&self) -> bool {
        let Some(last) = &self.last else { return true };
        let life = if self.model.cache_life == 0 { LIFE } else { self.model.cache_life };
        let age = u64::try_from(self.log.now() - last.time).unwrap_or_default();
        last.model != self.model().name || age > life.saturating_mul(1_000)
    }
}
