//! The token budget of a call, and the high and low marks that follow from it.

use serde::{Deserialize, Serialize};

use crate::setting::{FoldRule, Size, Threshold};
use crate::tokens::Calibration;

/// The tokens that the prompt of a call may use. `window` and `model_window` count as the provider
/// does, `tools` as the local counter does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Maximum number of tokens of the prompt: what the answer and the margin leave of the model's
    /// window.
    pub window: usize,
    /// The window of the model, for the prompt and the answer. `fold.target` is a share of it.
    pub model_window: usize,
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
        Self {
            window,
            model_window: window,
            tools: 0,
            calibration: Calibration::default(),
            cold: false,
        }
    }
}

/// The token limits of a call under one policy, in the counter's uncorrected tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// Maximum number of tokens that may be sent.
    pub window: usize,
    /// The tokens of the system prompt and the tool definitions, which are always sent.
    pub fixed: usize,
    /// The tokens that are left for the conversation.
    pub available: usize,
    /// The high mark: a fold starts above it.
    pub high: usize,
    /// The low mark: a fold shrinks the context to it.
    pub low: usize,
    /// Maximum number of tokens of the window that the policy uses.
    usable: usize,
    /// How many tokens the provider counts for a thousand of the counter's. Numbers of tokens in a
    /// policy are in provider tokens.
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
        let window = budget.calibration.to_counter_tokens(budget.window);
        let whole = budget.calibration.to_counter_tokens(budget.model_window.max(budget.window));
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
        self.low = rule.low.map_or(self.high, |low| self.low_mark(low, rule.high).min(self.high));
        self
    }

    /// Returns the low mark. Two marks in tokens keep their ratio if the window is smaller than the
    /// high mark, or the system prompt takes much of it: if they came close to each other, every
    /// message would start a fold.
    fn low_mark(&self, low: Size, high: Size) -> usize {
        let mark = self.mark(low);
        match (low, high) {
            (Size::Tokens(low), Size::Tokens(high)) if high > 0 => {
                let conversation = self.high.saturating_sub(self.fixed) as u128;
                let share = conversation * low as u128 / high as u128;
                mark.min(self.fixed + usize::try_from(share).unwrap_or(usize::MAX))
            }
            _ => mark,
        }
    }

    /// Returns a mark for display, in provider tokens. If the mark is a number of tokens in the
    /// policy, that exact number is returned.
    #[must_use]
    pub fn for_display(&self, mark: usize, size: Option<Size>, calibration: &Calibration) -> usize {
        match size {
            Some(Size::Tokens(tokens)) if self.to_counter_tokens(tokens) == mark => tokens,
            _ => calibration.to_provider_tokens(mark),
        }
    }

    /// Converts a number of provider tokens to counter tokens.
    const fn to_counter_tokens(self, tokens: usize) -> usize {
        let scale = if self.scale == 0 { 1 } else { self.scale as usize };
        tokens * ONE_TO_ONE as usize / scale
    }

    /// Converts a number of counter tokens to provider tokens.
    const fn to_provider_tokens(self, tokens: usize) -> usize {
        let scale = if self.scale == 0 { 1 } else { self.scale as usize };
        tokens * scale / ONE_TO_ONE as usize
    }

    /// Returns a size in the provider's tokens, as a limit of a request.
    #[must_use]
    pub const fn provider_tokens(&self, size: Size) -> usize {
        match size {
            Size::Tokens(tokens) => tokens,
            Size::Share(_) | Size::Root { .. } => self.to_provider_tokens(size.of(self.available)),
        }
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
                let tokens = self.to_counter_tokens(tokens);
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

    /// Returns a size in counter tokens. A share is taken of the available tokens; a number of
    /// tokens is in provider tokens.
    #[must_use]
    pub const fn tokens(&self, size: Size) -> usize {
        match size {
            Size::Tokens(tokens) => self.to_counter_tokens(tokens),
            Size::Share(_) | Size::Root { .. } => size.of(self.available),
        }
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
        assert_eq!(budget.calibration.to_provider_tokens(marks.high), 50_000);
    }

    /// A size such as `window.tokens = 20000` too, which is not a mark.
    #[test]
    fn a_size_in_tokens_counts_as_the_provider_does() {
        let mut budget = Budget::of(100_000);
        budget.calibration = Calibration::of(1.25);
        let marks = Marks::new(&budget, &rule("auto"), 0);
        assert_eq!(marks.tokens(Size::Tokens(20_000)), 16_000);
        assert_eq!(marks.tokens(Size::percent(50)), 40_000);
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

    /// C3.3: two marks in tokens keep their distance next to a long system prompt and in a small
    /// window.
    #[test]
    fn c3_3_the_marks_keep_their_distance() {
        let rule = rule("budget");
        let marks = |window, fixed| {
            let marks = Marks::new(&Budget::of(window), &rule, fixed);
            (marks.low, marks.high)
        };
        assert_eq!(marks(128_000, 2_000), (30_000, 50_000));
        assert_eq!(marks(128_000, 16_000), (36_400, 50_000));
        assert_eq!(marks(32_000, 1_200), (12_000, 19_200));
    }

    /// A mark is shown as the number that the user set, although the counter's tokens are rounded.
    #[test]
    fn a_mark_in_tokens_is_shown_as_it_was_set() {
        for factor in [0.7, 0.813, 1.07, 1.333, 1.9] {
            let mut budget = Budget::of(1_000_000);
            budget.calibration = Calibration::of(factor);
            for tokens in [8_000, 30_000, 150_000] {
                let rule = FoldRule { high: Size::Tokens(tokens), ..FoldRule::default() };
                let marks = Marks::new(&budget, &rule, 500);
                let shown = |size| marks.for_display(marks.high, size, &budget.calibration);
                assert_eq!(shown(Some(rule.high)), tokens);
            }
        }
    }

    /// C3.9: a system prompt larger than the window leaves nothing, and no mark lies below it.
    #[test]
    fn c3_9_a_system_prompt_larger_than_the_window_does_not_underflow() {
        let marks = Marks::new(&Budget::of(1_000), &FoldRule::default(), 5_000);
        assert_eq!((marks.available, marks.high), (0, 5_000));
    }
}
