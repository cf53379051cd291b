//! [`Counters`]: the figures of one policy under one window, over any number of conversations.

use crate::price::{Bill, share, tokens};
use crate::surprise::Surprise;

/// Sums over conversations. They can be added to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Number of conversations.
    pub conversations: usize,
    /// Number of tool calls with values in their arguments.
    pub calls: usize,
    /// Number of those calls whose context had every value that was seen before.
    pub intact: usize,
    /// Number of values in arguments that were seen before.
    pub values: usize,
    /// Number of those values that were still in the context.
    pub retained: usize,
    /// Number of model calls, each with its context.
    pub contexts: usize,
    /// Tokens of all contexts, without system prompt and tool definitions.
    pub tokens: usize,
    /// Tokens of the largest context.
    pub tokens_max: usize,
    /// Tokens of messages that were sent verbatim.
    pub verbatim: usize,
    /// Number of folds.
    pub folds: usize,
    /// Tokens of unchanged messages right after each fold.
    pub fold_verbatim: usize,
    /// The window, once per fold.
    pub fold_window: usize,
    /// The cost of the prompts.
    pub bill: Bill,
    /// The cost of the prompts if nothing had been folded.
    pub append_only: Bill,
    /// Number of contexts that break a rule of the wire.
    pub invalid: usize,
    /// Number of contexts larger than the window.
    pub over: usize,
    /// The surprise of a judge; empty without one.
    pub surprise: Surprise,
}

impl Counters {
    /// Adds other counters to these.
    pub fn add(&mut self, other: &Self) {
        self.conversations += other.conversations;
        self.calls += other.calls;
        self.intact += other.intact;
        self.values += other.values;
        self.retained += other.retained;
        self.contexts += other.contexts;
        self.tokens += other.tokens;
        self.tokens_max = self.tokens_max.max(other.tokens_max);
        self.verbatim += other.verbatim;
        self.folds += other.folds;
        self.fold_verbatim += other.fold_verbatim;
        self.fold_window += other.fold_window;
        self.bill.add(other.bill);
        self.append_only.add(other.append_only);
        self.invalid += other.invalid;
        self.over += other.over;
        self.surprise.add(&other.surprise);
    }

    /// Returns the share of needed values that were still in the context; 1 if none was needed.
    #[must_use]
    pub fn retained(&self) -> f64 {
        if self.values == 0 { 1.0 } else { share(self.retained, self.values) }
    }

    /// Returns the share of calls whose context had every needed value; 1 if there were no calls.
    #[must_use]
    pub fn calls_intact(&self) -> f64 {
        if self.calls == 0 { 1.0 } else { share(self.intact, self.calls) }
    }

    /// Returns the mean number of tokens in a context.
    #[must_use]
    pub fn tokens_mean(&self) -> f64 {
        if self.contexts == 0 { 0.0 } else { tokens(self.tokens) / tokens(self.contexts) }
    }

    /// Returns the cost relative to never folding.
    #[must_use]
    pub fn cost(&self) -> f64 {
        if self.append_only.cost > 0.0 { self.bill.cost / self.append_only.cost } else { 0.0 }
    }

    /// Returns the share of the window that unchanged messages take right after a fold.
    #[must_use]
    pub fn fold_verbatim_share(&self) -> f64 {
        share(self.fold_verbatim, self.fold_window)
    }

    /// Returns the share of the tokens that were sent verbatim.
    #[must_use]
    pub fn verbatim_share(&self) -> f64 {
        share(self.verbatim, self.tokens)
    }
}
