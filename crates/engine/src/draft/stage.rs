//! The trait of a stage. The stages themselves are in [`crate::stage`].

use std::fmt::Debug;
use std::time::Duration;

use super::{Draft, Item, Marks, Passage};
use crate::history::History;
use crate::ledger::Weights;
use crate::model::Model;
use crate::phrase::Phrase;
use crate::reason::Reason;
use crate::setting::FoldRule;
use crate::summary::Summarize;

/// What a stage can see when an atom is about to be sent for the first time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Arrival<'a> {
    /// All messages, also those that are not sent.
    pub history: &'a History,
    /// The token limits of the context.
    pub marks: &'a Marks,
    /// The model that is called.
    pub model: &'a Model,
    /// The weights of the ledger's ranking.
    pub weights: &'a Weights,
    /// The tokens that the context can still grow by without a fold; 0 during a fold.
    pub headroom: usize,
    /// The atoms that the context no longer shows.
    pub unsent: &'a [usize],
    /// The passages that the caller found for the newest user message and that the context does
    /// not show, best first; `None` if the caller did not search.
    pub found_passages: Option<&'a [&'a Passage]>,
}

/// The search that a stage needs: its caller looks for passages that fit the newest user message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Search {
    /// Maximum number of passages that are quoted. More of them should be found, because some may
    /// still be in the context.
    pub passages: usize,
    /// How long the call waits for the search. Without a result in time nothing is quoted.
    pub timeout: Duration,
}

impl Search {
    /// Creates a search for at most this many passages.
    #[must_use]
    pub const fn new(passages: usize, timeout: Duration) -> Self {
        Self { passages, timeout }
    }
}

/// A number of messages or turns above which a stage drops the oldest ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CountLimit {
    /// Messages, without system messages.
    Messages(usize),
    /// Turns.
    Turns(usize),
}

/// One operation of a policy.
pub trait Stage: Debug + Send + Sync {
    /// Returns its name, as in a policy.
    fn name(&self) -> &'static str {
        "stage"
    }

    /// Changes an atom before it is sent for the first time. It stays like that until the next
    /// fold.
    fn arrive(&self, _item: &mut Item, _arrival: &Arrival<'_>) {}

    /// Keeps, reduces or drops atoms during a fold.
    fn fold(&self, _draft: &mut Draft<'_>) {}

    /// Shrinks a draft that does not fit into the window after all stages have run. Returns whether
    /// this stage can do that.
    fn rescue(&self, _draft: &mut Draft<'_>) -> bool {
        false
    }

    /// Truncates texts and drops turns for [`FoldLevel::Harder`](crate::plan::FoldLevel::Harder),
    /// needed or not. Returns whether this stage can do that.
    fn fold_harder(&self, _draft: &mut Draft<'_>) -> bool {
        false
    }

    /// Truncates long texts, if the stage has settings for that.
    fn truncate_texts(&self, _draft: &mut Draft<'_>, _reason: &Reason) {}

    /// Returns the search that the stage needs, if it quotes messages that the context no longer
    /// shows.
    fn search(&self) -> Option<Search> {
        None
    }

    /// Returns how the stage summarizes what is dropped, if it does.
    fn summary(&self) -> Option<&Summarize> {
        None
    }

    /// Returns how many of the newest steps the stage keeps, if it keeps a number of steps.
    fn steps(&self) -> Option<usize> {
        None
    }

    /// Returns the number of messages or turns above which the stage drops some. `summarizes` tells
    /// whether the policy replaces what is dropped with a summary.
    fn limit(&self, _summarizes: bool) -> Option<CountLimit> {
        None
    }

    /// Returns a warning about its settings, for people.
    fn settings_warning(&self, _rule: &FoldRule) -> Option<Phrase> {
        None
    }
}
