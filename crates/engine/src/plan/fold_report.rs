//! Explains the size of a context after a fold: which stages and rules changed it, and how much of
//! its budget the summary block used.

use serde::Serialize;

use crate::draft::Draft;

/// Why a fold left as many tokens as it did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoldReport {
    /// The stages and rules that changed the size of the context, in the order in which they ran.
    pub effects: Vec<FoldEffect>,
    /// Whether the fold had to reach the low mark: it was started by the number of tokens.
    #[serde(rename = "to_low")]
    pub had_to_reach_low_mark: bool,
    /// The tokens that the summary block takes; 0 without one.
    pub block: usize,
    /// Maximum number of tokens that the summary block could have taken.
    pub block_budget: usize,
}

/// What one stage or rule did in a fold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoldEffect {
    /// The name of the stage, or one of [`LOW_MARK`], [`FIT_WINDOW`], [`LEVEL`] and [`ARRIVAL`].
    pub by: &'static str,
    /// The number of messages that it dropped.
    pub dropped: usize,
    /// The tokens that it freed.
    pub freed: usize,
    /// The tokens of the context after it, without the summary block.
    pub left: usize,
}

/// The rule that drops the oldest messages down to the low mark.
pub const LOW_MARK: &str = "low-mark";

/// The rule that a context fits into the window, together with its summary block.
pub const FIT_WINDOW: &str = "limit";

/// What the [level](super::FoldLevel) of a fold on request drops beyond the policy.
pub const LEVEL: &str = "level";

/// The rules for messages that arrive, which a fold applies to every kept message again, and the
/// removal of old thinking.
pub const ARRIVAL: &str = "arrival";

impl FoldReport {
    /// Returns the effect that decided the size: the last one that dropped messages, or if none
    /// did, the one that freed the most.
    #[must_use]
    pub fn main_effect(&self) -> Option<&FoldEffect> {
        let last_drop = self.effects.iter().rfind(|effect| effect.dropped > 0);
        last_drop.or_else(|| self.effects.iter().max_by_key(|effect| effect.freed))
    }

    /// Returns the report with its token counts converted.
    pub(super) fn in_provider_tokens(mut self, convert: impl Fn(usize) -> usize) -> Self {
        for effect in &mut self.effects {
            effect.freed = convert(effect.freed);
            effect.left = convert(effect.left);
        }
        self.block = convert(self.block);
        self.block_budget = convert(self.block_budget);
        self
    }
}

/// Records what each stage and rule does in a fold.
#[derive(Debug)]
pub(super) struct EffectRecorder {
    effects: Vec<FoldEffect>,
    total: usize,
    dropped: usize,
}

impl EffectRecorder {
    pub(super) fn new(draft: &Draft<'_>) -> Self {
        Self { effects: Vec::new(), total: draft.tokens(), dropped: dropped(draft) }
    }

    /// Records what `by` did to the draft since the last record.
    pub(super) fn record(&mut self, by: &'static str, draft: &Draft<'_>) {
        let now = dropped(draft);
        if draft.tokens() != self.total || now != self.dropped {
            let left = draft.tokens();
            let freed = self.total.saturating_sub(left);
            let dropped = now.saturating_sub(self.dropped);
            self.effects.push(FoldEffect { by, dropped, freed, left });
        }
        self.total = draft.tokens();
        self.dropped = now;
    }

    pub(super) fn into_effects(self) -> Vec<FoldEffect> {
        self.effects
    }
}

/// Returns the number of messages that are not sent.
fn dropped(draft: &Draft<'_>) -> usize {
    let omitted = draft.items().iter().filter(|item| !item.treatment.is_sent());
    omitted.filter_map(|item| draft.history.atom(item.atom)).map(|atom| atom.messages.len()).sum()
}
