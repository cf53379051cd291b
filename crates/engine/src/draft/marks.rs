//! The token budget of a call, and the high and low marks that follow from it.

use serde::{Deserialize, Serialize};

use crate::setting::{FoldRule, Size, Threshold};
use crate::tokens::Calibration;

/// The tokens that the prompt of a call may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// The most tokens of the whole prompt.
    pub window: usize,
    /// The whole window of the model, of which the answer may take a part. `fold.target` is a share
    /// of it.
    pub whole: usize,
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
        Self { window, whole: window, tools: 0, calibration: Calibration::default(), cold: false }
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
    /// The provider's tokens for a thousand of the counter's. Numbers of tokens in a policy are the
    /// provider's.
    #[serde(default = "one_to_one")]
    scale: u32,
}

/// The scale of a counter that counts as the provider does.
const ONE_TO_ONE: u32 = 1_000;

const fn one_to_one() -> u32 {
    ONE_TO_ONE
}

impl Marks {
    /// Returns the marks of a budget with a system prompt of `system` tokens.
    #[must_use]
    pub fn new(budget: &Budget, rule: &FoldRule, system: usize) -> Self {
        let window = budget.calibration.uncorrect(budget.window);
        let whole = budget.calibration.uncorrect(budget.whole.max(budget.window));
        let usable = rule.target.of(whole).min(window);
        let fixed = system + budget.tools;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the factor is between 0.5 and 2"
        )]
        let scale = (budget.calibration.factor() * f64::from(ONE_TO_ONE)).round() as u32;
        Self { window, fixed, available: 0, high: 0, low: 0, usable, scale }.with_marks(rule)
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
    /// half of it: then it is added to the fixed part too. It counts as the provider does.
    #[must_use]
    pub fn mark(&self, size: Size) -> usize {
        let mark = match size {
            Size::Share(_) | Size::Root { .. } => self.fixed + size.of(self.available),
            Size::Tokens(0) => 0,
            Size::Tokens(tokens) => {
                let tokens = tokens * ONE_TO_ONE as usize / self.scale.max(1) as usize;
                if tokens > 2 * self.fixed { tokens } else { self.fixed + tokens }
            }
        };
        mark.min(self.usable.max(self.fixed))
    }

    /// Returns a threshold as a mark.
    #[must_use]
    pub fn threshold(&self, threshold: Threshold) -> usize {
        match threshold {
            Threshold::Size(size) => self.mark(size),
            Threshold::High => self.high,
        }
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

    /// S1.6: a mark of 50,000 means 50,000 of the provider's tokens, however wrong the counter is.
    #[test]
    fn s1_6_a_mark_in_tokens_counts_as_the_provider_does() {
        let mut budget = Budget::of(1_000_000);
        budget.calibration = Calibration::of(1.25);
        let marks = Marks::new(&budget, &rule("chat"), 0);
        assert_eq!(marks.high, 40_000);
        assert_eq!(budget.calibration.correct(marks.high), 50_000);
    }

    /// S3.26: 60% of the whole window, although the answer takes a part of it.
    #[test]
    fn s3_26_the_target_is_a_share_of_the_whole_window() {
        let budget = Budget { window: 111_616, ..Budget::of(128_000) };
        assert_eq!(Marks::new(&budget, &rule("budget"), 2_156).available, 74_644);
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
