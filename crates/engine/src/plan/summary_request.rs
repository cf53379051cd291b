//! The summary that a plan would like to have instead of its digest.

use std::sync::Arc;

use crate::history::History;
use crate::policy::Size;
use crate::summary::{Mode, Placement, Schema, Summary};

/// A summary that the planner would use if the caller obtained it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// The indexes of the messages to summarize.
    pub sources: Vec<usize>,
    /// Maximum number of tokens it may take, as the provider counts.
    pub max_tokens: usize,
    /// The tokens of the messages that it replaces.
    pub replaced_tokens: usize,
    /// The prompt, and what the reply must contain.
    pub schema: Arc<Schema>,
    /// Whether the call should wait for it.
    pub mode: Mode,
    /// Where it goes in the context.
    pub placement: Placement,
    /// When an earlier summary must be updated.
    pub update: UpdateRule,
}

/// When a summary is updated.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct UpdateRule {
    /// The fewest new messages that are worth an update.
    pub messages: usize,
    /// The share of the summary's tokens that the new messages must exceed.
    pub ratio: Size,
    /// Whether the context is so far above the high mark that the update cannot wait.
    pub is_pressing: bool,
}

impl SummaryRequest {
    /// Returns the request for a summary that an earlier process wanted and did not finish. It is
    /// made in the background and always worth making, because the fold that needs it is over;
    /// where it goes is decided by the next plan.
    #[must_use]
    pub const fn restored(
        sources: Vec<usize>,
        max_tokens: usize,
        replaced_tokens: usize,
        schema: Arc<Schema>,
    ) -> Self {
        let mode = Mode::Background;
        let placement = Placement::Prefix;
        let update = UpdateRule { messages: 0, ratio: Size::Tokens(0), is_pressing: true };
        Self { sources, max_tokens, replaced_tokens, schema, mode, placement, update }
    }

    /// Returns whether this summary is worth making, although there is an `earlier` one of some of
    /// its messages. If not, a digest of the new messages goes with the earlier one.
    #[must_use]
    pub fn is_worth_making(&self, history: &History, earlier: &Summary) -> bool {
        let UpdateRule { messages, ratio, is_pressing } = self.update;
        let is_new = |source: &&usize| earlier.sources.binary_search(source).is_err();
        let new: Vec<usize> = self.sources.iter().filter(is_new).copied().collect();
        let new_tokens: usize = new.iter().map(|&source| history.message_tokens(source)).sum();
        let summary_tokens = history.counter().text(&earlier.text).max(1);
        !new.is_empty()
            && (is_pressing || new.len() >= messages && new_tokens > ratio.of(summary_tokens))
    }

    /// Returns the wanted summary with this text.
    #[must_use]
    pub fn summary(&self, text: impl Into<String>) -> Summary {
        Summary::new(self.sources.clone(), text)
    }
}
