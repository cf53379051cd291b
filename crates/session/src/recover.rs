//! What to do about a call that failed: an overflow teaches the window and is planned again, what may pass is waited for,
//! everything else is the caller's to hear, in the provider's own words.

use waterline_provider::http::CallError;
use waterline_provider::overflow::Overflow;

use crate::error::SessionError;
use crate::live::Live;

/// How often an overflow is planned again.
const OVERFLOWS: usize = 2;

/// Where a provider gives no numbers, the next prompt may take so much of what this one took, in percent.
const SMALLER: usize = 60;

/// What was tried so far for one call.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    overflows: usize,
    failures: usize,
}

impl Live {
    /// Makes another try worth while, or gives up with the error itself.
    pub(crate) async fn recover(&mut self, error: CallError, recovery: &mut Recovery) -> Result<(), SessionError> {
        if let Some(partial) = error.partial() {
            self.keep_aside(partial).await?;
        }
        if let Some(overflow) = error.overflow() {
            recovery.overflows += 1;
            if recovery.overflows > OVERFLOWS {
                return Err(error.into());
            }
            self.learn(overflow);
            return Ok(());
        }
        recovery.failures += 1;
        match self.setup.retry.wait(&error, recovery.failures, jitter()) {
            Some(wait) => {
                tokio::time::sleep(wait).await;
                Ok(())
            }
            None => Err(error.into()),
        }
    }

    /// The window is what the provider says it is, from now on; and what it says about the prompt corrects the counter.
    fn learn(&mut self, overflow: Overflow) {
        let sent = self.generation.tokens() + self.budget.tools;
        if let Some(prompt) = overflow.prompt {
            self.budget.calibration.observe(sent, prompt);
        }
        let guess = self.budget.calibration.correct(sent) * SMALLER / 100;
        let window = overflow.window.unwrap_or(guess);
        // The answer needs room too, where a provider counts it in.
        let room = self.setup.options.max_tokens.unwrap_or_default().min(window / 4);
        self.budget.window = self.budget.window.min(window - room).max(1);
    }
}

/// A number from 0 to 1 that differs between processes and calls; nothing hangs on how random it is.
fn jitter() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    let bits = RandomState::new().hash_one(0_u8) >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let share = bits as f64 / (1_u64 << 53) as f64;
    share
}
