//! Token counts for display, all on one scale: the provider's own count.

use crate::live::LiveSession;

impl LiveSession {
    /// Corrects a local token count by the usage that the provider has reported so far.
    #[must_use]
    pub fn corrected(&self, tokens: usize) -> usize {
        self.budget.calibration.correct(tokens)
    }

    /// Returns the tokens of the current context: the last one sent, plus the messages since. The
    /// next prompt has this size plus its new message, unless it is folded.
    #[must_use]
    pub fn context_tokens(&self) -> usize {
        let since = (self.generation.covered()..self.history.len())
            .map(|at| self.history.message_tokens(at));
        self.corrected(self.generation.tokens() + since.sum::<usize>() + self.budget.tools)
    }

    /// Returns the tokens that an answer may have: its limit, or less if the window that prompt and
    /// answer share leaves less.
    #[must_use]
    pub fn answer_tokens(&self) -> usize {
        let limit = self.config.options.max_tokens.unwrap_or(self.model.output);
        match self.budget.whole.saturating_sub(self.budget.window) {
            0 => limit,
            left => limit.min(left),
        }
    }
}
