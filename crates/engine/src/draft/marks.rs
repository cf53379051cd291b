//! The token budget of a call, and the high and low marks that follow from it.

use serde::{Deserialize, Serialize};

use crate::setting::{FoldRule, Size};
use crate::tokens::Calibration;

/// The tokens that the prompt of a call may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// The most tokens of the whole prompt.
    pub window: usize,
    /// The tokens of the tool definitions, which are part of the prompt.
    pub tools: usize,
    /// The correction of the token counter, learned from real usage.
    pub calibration: Calibration,
    /// Whether the provider's cache no longer holds the prompt. A fold costs less then.
    pub cold: bool,
}

impl Budget {
    /// Creates a budget of `window` tokens for the system prompt and the messages.
    #[must_use]
    pub fn of(window: usize) -> Self {
        Self { window, tools: 0, calibration: Calibration::default(), cold: false }
    }
}

/// The token limits of a call under one policy, in the counter's uncorrected tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// The most that may be sent.
    pub window: usize,
    /// The tokens of the system prompt and the tool definitions, which are always sent.
    pub fixed: usize,
    /// The tokens that are left for the conversation.
    pub available: usize,
    /// The high mark: a fold starts above it.
    pub high: usize,
    /// The low mark: a fold shrinks the context to it.
    pub low: usize,
    /// The most tokens of the window that the policy uses.
    usable: usize,
}

impl Marks {
    /// Returns the marks of a budget with a system prompt of `system` tokens.
    #[must_use]
    pub fn new(budget: &Budget, rule: &FoldRule, system: usize) -> Self {
        let window = budget.calibration.uncorrect(budget.window);
        let usable = rule.target.of(window).min(window);
        Self { window, fixed: system + budget.tools, available: 0, high: 0, low: 0, usable }
            .with_marks(rule)
    }

    /// Returns the marks for at most `tokens` tokens of conversation.
    pub(crate) fn limited(self, rule: &FoldRule, tokens: usize) -> Self {
        Self { usable: self.usable.min(self.fixed + tokens), ..self }.with_marks(rule)
    }

    fn with_marks(mut self, rule: &FoldRule) -> Self {
        self.available = self.usable.saturating_sub(self.fixed);
        self.high = self.mark(rule.high);
        self.low = rule.low.map_or(self.high, |low| self.mark(low).min(self.high));
        self
    }

    /// Returns a size as a mark, in tokens of the whole context. A share is added to the fixed
    /// part. A number of tokens means the whole context, unless the fixed part alone is at least
    /// half of it: then it is added to the fixed part too.
    #[must_use]
    pub fn mark(&self, size: Size) -> usize {
        let mark = match size {
            Size::Share(_) | Size::Root { .. } => self.fixed + size.of(self.available),
            Size::Tokens(0) => 0,
            Size::Tokens(tokens) if tokens > 2 * self.fixed => tokens,
            Size::Tokens(tokens) => self.fixed + tokens,
        };
        mark.min(self.usable.max(self.fixed))
    }

    /// Returns a size in tokens. A share is one of the available tokens.
    #[must_use]
    pub const fn tokens(&self, size: Size) -> usize {
        size.of(self.available)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(preset: &str) -> FoldRule {
        crate::policy::Policy::preset(preset).unwrap().fold
    }

    /// E.7: window 128,000, 60%, system 2,156 → 76,800 / 74,644 / 19,407 / 48,518.
    #[test]
    fn e07_s3_26_to_28_budget_of_the_seed() {
        let rule = rule("budget");
        let marks = Marks::new(&Budget::of(128_000), &rule, 2_156);
        assert_eq!(rule.target.of(128_000), 76_800);
        assert_eq!(marks.available, 74_644);
        assert_eq!(marks.tokens(Size::percent(26)), 19_407);
        assert_eq!(marks.tokens(Size::percent(65)), 48_518);
    }

    #[test]
    fn a_counter_that_undercounts_gets_a_smaller_window() {
        let mut budget = Budget::of(10_000);
        for _ in 0..100 {
            budget.calibration.observe(100, 200);
        }
        let marks = Marks::new(&budget, &FoldRule::default(), 0);
        assert!((5_000..5_100).contains(&marks.window), "{}", marks.window);
    }

    /// With a system prompt of 4,000 tokens, a mark of 3,000 means 3,000 tokens of conversation.
    #[test]
    fn a_mark_below_twice_the_system_prompt_is_added_to_it() {
        let rule = rule("dual-track");
        assert_eq!(Marks::new(&Budget::of(100_000), &rule, 4_000).high, 7_000);
        assert_eq!(Marks::new(&Budget::of(100_000), &rule, 100).high, 3_000);
    }

    /// C3.9: a system prompt larger than the window leaves nothing, and no mark lies below it.
    #[test]
    fn c3_9_a_system_prompt_larger_than_the_window_does_not_underflow() {
        let marks = Marks::new(&Budget::of(1_000), &FoldRule::default(), 5_000);
        assert_eq!((marks.available, marks.high), (0, 5_000));
    }
}
