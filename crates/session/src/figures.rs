//! How large things are, on the one scale that people are shown: as the provider counts.

use crate::live::LiveSession;

impl LiveSession {
    /// Tokens as they were counted here, corrected by what the provider reported so far.
    #[must_use]
    pub fn corrected(&self, tokens: usize) -> usize {
        self.budget.calibration.correct(tokens)
    }

    /// The tokens of the context as it stands: what was sent last, and what came since. So much the
    /// next prompt takes, beside what will be said in it, unless it is folded.
    #[must_use]
    pub fn context_tokens(&self) -> usize {
        let since = (self.generation.covered()..self.history.len())
            .map(|at| self.history.message_tokens(at));
        self.corrected(self.generation.tokens() + since.sum::<usize>() + self.budget.tools)
    }

    /// The tokens that an answer may take.
    #[must_use]
    pub fn answer_tokens(&self) -> usize {
        self.config.options.max_tokens.unwrap_or(self.model.output)
    }
}
