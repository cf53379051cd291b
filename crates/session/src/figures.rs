//! Token counts for display, all on one scale: the provider's own count.

use crate::between_calls::Reported;
use crate::live::LiveSession;

impl LiveSession {
    /// Corrects a local token count by the usage that the provider has reported so far.
    #[must_use]
    pub fn corrected(&self, tokens: usize) -> usize {
        self.budget.calibration.to_provider_tokens(tokens)
    }

    /// Returns the tokens of the current context: the last one sent, plus the messages since. The
    /// next prompt has this size plus its new message, unless it is folded.
    #[must_use]
    pub fn context_tokens(&self) -> usize {
        let since = |from: usize| {
            (from..self.history.len()).map(|at| self.history.message_tokens(at)).sum::<usize>()
        };
        // The provider's own figure does not change when the calibration of the counter does.
        let at = (self.at, self.generation.number);
        let is_current = |known: &Reported| known.at == at && known.messages <= self.history.len();
        match self.reported.or(self.reported_before).filter(is_current) {
            Some(known) => known.prompt_tokens + self.corrected(since(known.messages)),
            None => {
                let sent = self.generation.tokens() + self.budget.tools;
                self.corrected(sent + since(self.generation.covered()))
            }
        }
    }

    /// Returns the tokens that an answer may have: its limit, or less if the window that prompt and
    /// answer share leaves less.
    #[must_use]
    pub fn answer_tokens(&self) -> usize {
        let limit = self.config.options.max_tokens.unwrap_or(self.model.output);
        match self.budget.model_window.saturating_sub(self.budget.window) {
            0 => limit,
            left => limit.min(left),
        }
    }
}
