//! The figures of one policy under one window, over any number of conversations.

use crate::price::{Bill, share, tokens};

/// Sums, so that tallies of many conversations can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Conversations.
    pub conversations: usize,
    /// Tool calls that have values in their arguments.
    pub calls: usize,
    /// Of these, calls of which no value that had been seen was missing.
    pub intact: usize,
    /// Values in arguments that had been seen before.
    pub values: usize,
    /// Of these, values that stood in the context.
    pub retained: usize,
    /// Model calls, each with a context of its own.
    pub contexts: usize,
    /// Tokens of all contexts, without system prompt and tool definitions.
    pub tokens: usize,
    /// Tokens of the largest context.
    pub tokens_max: usize,
    /// Tokens of messages that were sent as they are.
    pub verbatim: usize,
    /// Folds.
    pub folds: usize,
    /// What the prompts cost.
    pub bill: Bill,
    /// What they would have cost if nothing had ever been folded.
    pub append_only: Bill,
    /// Contexts that break a rule.
    pub invalid: usize,
    /// Contexts that are larger than the window.
    pub over: usize,
}

impl Counters {
    /// Adds another one.
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
        self.bill.add(other.bill);
        self.append_only.add(other.append_only);
        self.invalid += other.invalid;
        self.over += other.over;
    }

    /// The share of the values that stood in the context; of none, all.
    #[must_use]
    pub fn retained(&self) -> f64 {
        if self.values == 0 { 1.0 } else { share(self.retained, self.values) }
    }

    /// The share of the calls that had all they needed.
    #[must_use]
    pub fn calls_intact(&self) -> f64 {
        if self.calls == 0 { 1.0 } else { share(self.intact, self.calls) }
    }

    /// The tokens of a context, on average.
    #[must_use]
    pub fn tokens_mean(&self) -> f64 {
        if self.contexts == 0 { 0.0 } else { tokens(self.tokens) / tokens(self.contexts) }
    }

    /// The cost against never folding.
    #[must_use]
    pub fn cost(&self) -> f64 {
        if self.append_only.cost > 0.0 { self.bill.cost / self.append_only.cost } else { 0.0 }
    }

    /// The share of the context that was sent as it is.
    #[must_use]
    pub fn verbatim_share(&self) -> f64 {
        share(self.verbatim, self.tokens)
    }
}
