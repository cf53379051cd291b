//! Folds on request: from the user, for a summary that was made in the background, or because a
//! provider refused a context as too long. `ByPolicy`, `Harder` and `Minimal` keep less and less;
//! `Restart` is for the first call of a session that is opened again.

use crate::draft::Draft;
use crate::policy::Policy;
use crate::reason::{Reason, Reasons};
use crate::stage::{Emergency, Halve, keep_turns, to_request_and_answer};

/// A request to fold now, whether or not a fold is due.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FoldRequest<'a> {
    /// How much to drop.
    pub level: FoldLevel,
    /// Why.
    pub reasons: &'a Reasons,
}

impl<'a> FoldRequest<'a> {
    /// Creates a request.
    #[must_use]
    pub const fn new(level: FoldLevel, reasons: &'a Reasons) -> Self {
        Self { level, reasons }
    }
}

/// How much a fold drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FoldLevel {
    /// The latest turns stay, as request and answer. For the first call after a restart.
    Restart,
    /// What the policy drops. Percentages of the policy apply to the current context instead of the
    /// window, so that a context that is half full shrinks too.
    #[default]
    ByPolicy,
    /// Long texts are truncated and few turns stay.
    Harder,
    /// Only the system prompt, the task, pins, the summary block, the newest user message and the
    /// newest step stay.
    Minimal,
}

impl FoldLevel {
    /// Returns the next level, which drops more.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self {
            // Not on the scale: if it drops nothing, the session resumes unchanged.
            Self::Restart => None,
            Self::ByPolicy => Some(Self::Harder),
            Self::Harder => Some(Self::Minimal),
            Self::Minimal => None,
        }
    }

    /// Returns the reason that is recorded for a fold at this level.
    #[must_use]
    pub const fn reason(self) -> Reason {
        match self {
            Self::Restart => Reason::FoldedTurns,
            Self::ByPolicy => Reason::Folded,
            Self::Harder => Reason::FoldedHarder,
            Self::Minimal => Reason::FoldedMost,
        }
    }
}

/// Applies a level to a draft. The numbers of `Harder` and `Minimal` come from the policy's
/// `emergency` stage, those of `Restart` from `halve.turns`, or from the defaults of these.
pub(super) fn apply_level(draft: &mut Draft<'_>, policy: &Policy, level: FoldLevel) {
    match level {
        FoldLevel::Restart => keep_latest_turns(draft, policy),
        FoldLevel::ByPolicy => {}
        FoldLevel::Harder => truncate_and_drop(draft, policy),
        FoldLevel::Minimal => {
            truncate_and_drop(draft, policy);
            for atom in draft.newest_first() {
                draft.omit(atom, Reason::OnlyNewest);
            }
        }
    }
}

fn truncate_and_drop(draft: &mut Draft<'_>, policy: &Policy) {
    if !policy.stages.iter().any(|stage| stage.fold_harder(draft)) {
        Emergency::default().truncate_and_drop(draft);
    }
}

/// Keeps the latest turns as request and answer. The running turn stays whole.
fn keep_latest_turns(draft: &mut Draft<'_>, policy: &Policy) {
    let max = policy
        .setting("halve.turns")
        .and_then(|turns| usize::try_from(turns.as_integer()?).ok())
        .unwrap_or(Halve::default().turns);
    let turns = turns_to_restore(max);
    // One more, for the running turn.
    keep_turns(draft, turns + 1, &Reason::OlderThanRestart { turns });
    for turn in draft.kept_turns().into_iter().rev().skip(1) {
        to_request_and_answer(draft, turn);
    }
}

/// Returns how many turns stay after a restart if a context has at most `max_turns`: a sixth of
/// them, and never fewer than three, so that a new process starts with the thread of the
/// conversation and not with all of it (S2.27).
const fn turns_to_restore(max_turns: usize) -> usize {
    let sixth = max_turns / 6;
    if sixth > 3 { sixth } else { 3 }
}

#[cfg(test)]
mod tests {
    use super::turns_to_restore;

    /// Requirements E.6, S2.27 and C2.10: a sixth, rounded down, and at least three.
    #[test]
    fn e06_s2_27_a_sixth_of_the_turns_is_restored() {
        assert_eq!([20, 18, 24, 30, 6, 0].map(turns_to_restore), [3, 3, 4, 5, 3, 3]);
    }
}
