//! How many tokens there are, and where the marks lie.

use crate::policy::{FoldRule, Size};
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
}

impl Budget {
    /// A budget of so many tokens for system prompt and messages.
    #[must_use]
    pub fn of(window: usize) -> Self {
        Self { window, tools: 0, calibration: Calibration::default() }
    }
}

/// The budget under one policy, in the counter's own tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
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
}

impl Room {
    /// The room that a budget leaves beside a system prompt of `system` tokens.
    #[must_use]
    pub fn new(budget: &Budget, rule: &FoldRule, system: usize) -> Self {
        let window = budget.calibration.uncorrect(budget.window);
        let usable = rule.target.of(window).min(window);
        let fixed = system + budget.tools;
        let available = usable.saturating_sub(fixed);
        let mark = |size: Size| match size {
            Size::Tokens(tokens) => tokens.min(usable.max(fixed)),
            Size::Share(_) => fixed + size.of(available),
        };
        let high = mark(rule.high);
        Self { window, fixed, available, high, low: mark(rule.low).min(high) }
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
    use crate::policy::Policy;

    /// E.7: window 128,000, 60%, system 2,156 → 76,800 / 74,644 / 19,407 / 48,518.
    #[test]
    fn e07_s3_26_to_28_budget_of_the_seed() {
        let policy = Policy::preset("budget").unwrap();
        let room = Room::new(&Budget::of(128_000), &policy.fold, 2_156);
        assert_eq!(policy.fold.target.of(128_000), 76_800);
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
        let room = Room::new(&budget, &FoldRule::default(), 0);
        assert!((5_000..5_100).contains(&room.window), "{}", room.window);
    }

    /// C3.9: a system prompt larger than the window leaves nothing, and no mark lies below it.
    #[test]
    fn c3_9_nothing_available_is_no_underflow() {
        let room = Room::new(&Budget::of(1_000), &FoldRule::default(), 5_000);
        assert_eq!((room.available, room.high), (0, 5_000));
    }
}
