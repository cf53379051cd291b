//! Detects folds that do not help. If the context is full again soon after a fold, three times in a
//! row, the next fold keeps less. If that does not help either, the user is warned. There is no
//! loop: each call folds once.
//!
//! A policy whose folds take what they can get (`fold.free = "0%"`) may fold with every call by
//! design: a window of 40 messages slides. Its folds are expected as long as the model's window has
//! space, and only those that leave too much count as ineffective.

use waterline::plan::{Budget, FoldLevel, Marks, Plan, Slot, Treatment};
use waterline::policy::Policy;
use waterline::reason::Reason;

/// A fold is ineffective if the context is full again within this many calls.
const SOON_CALLS: u64 = 2;

/// After this many ineffective folds in a row, the next fold keeps less.
const MAX_INEFFECTIVE: usize = 3;

/// How well a fold worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether the context is below the mark that the fold was to reach.
    pub(crate) fits: bool,
    /// Whether the policy folds as often as its rules require, and the window was not full.
    pub(crate) is_expected: bool,
}

impl Outcome {
    /// Returns the outcome of a fold. The context had `before` tokens before it, as the provider
    /// counts; the system prompt has `system` tokens, as the counter counts.
    pub(crate) fn of(
        plan: &Plan,
        before: usize,
        policy: &Policy,
        budget: &Budget,
        system: usize,
    ) -> Self {
        let tokens = plan.tokens;
        // Some policies keep more tokens than the mark above which they fold (C4.1).
        let marks = Marks::new(budget, &policy.fold, system);
        let keeps = policy.size("window.tokens").map_or(0, |size| {
            let kept = marks.fixed + marks.tokens(size) + added_tokens(plan);
            budget.calibration.to_provider_tokens(kept)
        });
        Self {
            fits: tokens.context <= tokens.high.max(tokens.low).max(keeps),
            is_expected: policy.fold.free.is_zero() && before <= tokens.window,
        }
    }
}

/// Returns the tokens that a fold sends in addition to the newest messages: the summary, and the
/// request that opens the oldest turn.
fn added_tokens(plan: &Plan) -> usize {
    let opens = |reason: &Reason| matches!(reason, Reason::OpensTurn | Reason::OpensTurnTruncated);
    let is_added =
        |slot: &&Slot| slot.treatment == Treatment::Summary || slot.reasons.iter().any(opens);
    plan.slots.iter().filter(is_added).map(|slot| slot.tokens).sum()
}

/// The recent folds of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoldEscalation {
    calls: u64,
    newest: Option<u64>,
    ineffective: usize,
    warned: bool,
}

impl FoldEscalation {
    /// Records a successful call.
    pub(crate) const fn record_call(&mut self) {
        self.calls += 1;
    }

    /// Records a fold. Returns whether to warn the user that folding does not help, which happens
    /// once.
    pub(crate) fn folded(&mut self, outcome: Outcome) -> bool {
        let is_soon = self.newest.is_some_and(|newest| self.calls - newest <= SOON_CALLS);
        self.newest = Some(self.calls);
        let helps = outcome.fits && (outcome.is_expected || !is_soon);
        self.ineffective = if helps { 0 } else { self.ineffective + 1 };
        if self.ineffective == 0 {
            self.warned = false;
        }
        let warns = self.ineffective >= MAX_INEFFECTIVE + 2 && !self.warned;
        self.warned |= warns;
        warns
    }

    /// Returns the level of the next fold, if it must be harder than the policy's own.
    pub(crate) const fn level(&self) -> Option<FoldLevel> {
        match self.ineffective {
            0..MAX_INEFFECTIVE => None,
            MAX_INEFFECTIVE => Some(FoldLevel::Harder),
            _ => Some(FoldLevel::Minimal),
        }
    }
}

#[cfg(test)]
mod tests {
    use waterline::history::History;
    use waterline::message::Message;
    use waterline::model::Models;
    use waterline::plan::{Action, Generation, Input, plan};
    use waterline::tokens::Calibration;

    use super::*;

    const USUAL: Outcome = Outcome { fits: true, is_expected: false };

    /// A window that slides with every call does not get smaller.
    #[test]
    fn expected_folds_never_get_harder_unless_they_leave_too_much() {
        let mut folds = FoldEscalation::default();
        for _ in 0..20 {
            assert!(!folds.folded(Outcome { fits: true, is_expected: true }));
            folds.record_call();
            assert_eq!(folds.level(), None);
        }
        let too_much = Outcome { fits: false, is_expected: true };
        assert_eq!((0..8).filter(|_| folds.folded(too_much)).count(), 1);
    }

    /// `dual-track` folds above 3,000 tokens and keeps 4,000, however wrong the counter is. The
    /// question of the oldest answer stays too.
    #[test]
    fn a_policy_that_keeps_more_than_its_mark_fits_with_any_calibration() {
        let policy = Policy::preset("dual-track").unwrap();
        let model = Models::builtin().unknown();
        for factor in [0.7, 1.0, 1.3, 1.9] {
            let budget = Budget { calibration: Calibration::of(factor), ..Budget::of(100_000) };
            let mut history = History::new(model.counter());
            let mut generation = Generation::new();
            let mut folds = Vec::new();
            for _ in 0..60 {
                history.append(Message::user("word ".repeat(300)));
                let planned = plan(&Input::new(&history, &generation, &policy, budget, &model));
                if let Action::Fold { from, .. } = planned.action {
                    let before = budget.calibration.to_provider_tokens(from);
                    folds.push(Outcome::of(&planned, before, &policy, &budget, 0));
                }
                generation.freeze(&history, planned);
                history.append(Message::assistant("answered"));
            }
            let expected = Outcome { fits: true, is_expected: true };
            assert!(folds.len() > 3 && folds.iter().all(|fold| *fold == expected), "{factor}");
        }
    }

    #[test]
    fn ineffective_folds_get_harder_and_then_warn_once() {
        let mut folds = FoldEscalation::default();
        let mut warnings = 0;
        let mut levels = Vec::new();
        for _ in 0..8 {
            levels.push(folds.level());
            warnings += usize::from(folds.folded(USUAL));
            folds.record_call();
        }
        assert_eq!(
            levels.get(..4),
            Some(&[None; 4][..]),
            "the first fold does not count as ineffective"
        );
        assert_eq!(
            levels.get(4..6),
            Some(&[Some(FoldLevel::Harder), Some(FoldLevel::Minimal)][..])
        );
        assert_eq!(warnings, 1);
        for _ in 0..10 {
            folds.record_call();
        }
        folds.folded(USUAL);
        assert_eq!(folds.level(), None, "an effective fold resets the count");
    }
}
