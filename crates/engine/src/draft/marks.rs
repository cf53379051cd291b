//! How many tokens there are, and where the marks lie.

use serde::{Deserialize, Serialize};

use crate::setting::{FoldRule, Size};
use crate::tokens::Calibration;

/// What a call may spend on its prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Tokens the whole prompt may take.
    pub window: usize,
    /// Tokens of it that tool definitions take.
    pub tools: usize,
    /// What real usage taught about the counter.
    pub calibration: Calibration,
    /// Nothing of the prompt is in the provider's cache any more, so a fold costs less than at
    /// other times.
    pub cold: bool,
}

impl Budget {
    /// A budget of so many tokens for system prompt and messages.
    #[must_use]
    pub fn of(window: usize) -> Self {
        Self { window, tools: 0, calibration: Calibration::default(), cold: false }
    }
}

/// The budget under one policy, in the counter's own tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// The most that may be sent.
    pub window: usize,
    /// What system prompt and tool definitions take of it in any case.
    pub fixed: usize,
    /// What is left for the conversation.
    pub available: usize,
    /// A fold starts above this.
    pub high: usize,
    /// And comes down to this.
    pub low: usize,
    /// The most that the policy uses of the window.
    usable: usize,
}

impl Marks {
    /// The room that a budget leaves beside a system prompt of `system` tokens.
    #[must_use]
    pub fn new(budget: &Budget, rule: &FoldRule, system: usize) -> Self {
        let window = budget.calibration.uncorrect(budget.window);
        let usable = rule.target.of(window).min(window);
        Self { window, fixed: system + budget.tools, available: 0, high: 0, low: 0, usable }
            .marked(rule)
    }

    /// The same room, of which no more than so many tokens of conversation are used.
    pub(crate) fn limited(self, rule: &FoldRule, tokens: usize) -> Self {
        Self { usable: self.usable.min(self.fixed + tokens), ..self }.marked(rule)
    }

    fn marked(mut self, rule: &FoldRule) -> Self {
        self.available = self.usable.saturating_sub(self.fixed);
        self.high = self.mark(rule.high);
        self.low = rule.low.map_or(self.high, |low| self.mark(low).min(self.high));
        self
    }

    /// The size of a whole context that a size means as a mark. A share lies above the fixed part.
    /// A number of tokens counts the whole context, unless the fixed part alone takes half of it:
    /// then it counts what comes on top.
    #[must_use]
    pub fn mark(&self, size: Size) -> usize {
        let mark = match size {
            Size::Share(_) => self.fixed + size.of(self.available),
            Size::Tokens(0) => 0,
            Size::Tokens(tokens) if tokens > 2 * self.fixed => tokens,
            Size::Tokens(tokens) => self.fixed + tokens,
        };
        mark.min(self.usable.max(self.fixed))
    }

    /// The tokens a size means here: a share is one of what is available.
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
        let room = Marks::new(&Budget::of(128_000), &rule, 2_156);
        assert_eq!(rule.target.of(128_000), 76_800);
        assert_eq!(room.available, 74_644);
        assert_eq!(room.tokens(Size::percent(26)), 19_407);
        assert_eq!(room.tokens(Size::percent(65)), 48_518);
    }

    #[test]
    fn a_counter_that_counts_too_little_gets_a_smaller_window() {
        let mut budget = Budget::of(10_000);
        for _ in 0..100 {
            budget.calibration.observe(100, 200);
        }
        let room = Marks::new(&budget, &FoldRule::default(), 0);
        assert!((5_000..5_100).contains(&room.window), "{}", room.window);
    }

    /// A mark of 3,000 tokens beside a system prompt of 4,000 means 3,000 of conversation, not
    /// nothing.
    #[test]
    fn a_mark_that_the_system_prompt_fills_counts_on_top_of_it() {
        let rule = rule("dual-track");
        assert_eq!(Marks::new(&Budget::of(100_000), &rule, 4_000).high, 7_000);
        assert_eq!(Marks::new(&Budget::of(100_000), &rule, 100).high, 3_000);
    }

    /// C3.9: a system prompt larger than the window leaves nothing, and no mark lies below it.
    #[test]
    fn c3_9_nothing_available_is_no_underflow() {
        let room = Marks::new(&Budget::of(1_000), &FoldRule::default(), 5_000);
        assert_eq!((room.available, room.high), (0, 5_000));
    }
}
