//! Explains the size of a context after a fold: which stages and rules changed it, and how much of
//! its budget the summary block used.

use serde::Serialize;

use crate::draft::Draft;

/// Why a fold left as many tokens as it did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoldReport {
    /// The stages and rules that changed the size of the context, in the order in which they ran.
    #[serde(rename = "steps")]
    pub effects: Vec<FoldEffect>,
    /// Whether the fold had to reach the low mark: it was started by the number of tokens.
    pub to_low: bool,
    /// The tokens that the summary block takes; 0 without one.
    pub block: usize,
    /// The most tokens that the summary block could have taken.
    pub block_budget: usize,
}

/// What one stage or rule did in a fold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoldEffect {
    /// The name of the stage, or one of [`LOW_MARK`], [`LIMIT`], [`LEVEL`] and [`ARRIVAL`].
    pub by: &'static str,
    /// The number of messages that it dropped.
    pub dropped: usize,
    /// The tokens of the context after it, without the summary block.
    pub left: usize,
}

/// The rule that drops the oldest messages down to the low mark.
pub const LOW_MARK: &str = "low-mark";

/// The rule that a context fits into the window, together with its summary block.
pub const LIMIT: &str = "limit";

/// The rule of a fold on request that keeps less than the policy.
pub const LEVEL: &str = "level";

/// What stages do to messages that are sent for the first time, and the removal of old thinking.
pub const ARRIVAL: &str = "arrival";

impl FoldReport {
    /// Returns the last effect that dropped messages, or the last one if none did.
    #[must_use]
    pub fn last_effect(&self) -> Option<&FoldEffect> {
        self.effects.iter().rfind(|effect| effect.dropped > 0).or_else(|| self.effects.last())
    }

    /// Returns the report with corrected token counts.
    pub(super) fn corrected(mut self, correct: impl Fn(usize) -> usize) -> Self {
        for effect in &mut self.effects {
            effect.left = correct(effect.left);
        }
        self.block = correct(self.block);
        self.block_budget = correct(self.block_budget);
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
        Self { effects: Vec::new(), total: draft.total(), dropped: dropped(draft) }
    }

    /// Records what `by` did to the draft since the last record.
    pub(super) fn note(&mut self, by: &'static str, draft: &Draft<'_>) {
        let now = dropped(draft);
        if draft.total() != self.total || now != self.dropped {
            let left = draft.total();
            self.effects.push(FoldEffect { by, dropped: now.saturating_sub(self.dropped), left });
        }
        self.total = draft.total();
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
