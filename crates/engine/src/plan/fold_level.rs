//! Folds on request: from the user, for a summary that was made in the background, or because a
//! provider refused a context as too long. From `Fold` on, each level keeps less than the one
//! before it; `Resume` is for a restart.

use crate::draft::Draft;
use crate::policy::Policy;
use crate::reason::Reason;
use crate::stage::{Emergency, Halve, keep_turns, to_request_and_answer};

/// A request to fold now, whether or not a fold is due.
#[derive(Clone, Copy, Debug)]
pub struct RequestedFold<'a> {
    /// How much to drop.
    pub level: FoldLevel,
    /// Why, for people.
    pub reason: &'a str,
}

/// How much a fold drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FoldLevel {
    /// The latest turns stay, as request and answer. For the first call after a restart.
    Resume,
    /// What the policy drops.
    #[default]
    Fold,
    /// Long texts are truncated and few turns stay.
    Trim,
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
            Self::Resume => None,
            Self::Fold => Some(Self::Trim),
            Self::Trim => Some(Self::Minimal),
            Self::Minimal => None,
        }
    }

    /// Describes what a fold at this level did, for people.
    #[must_use]
    pub const fn about(self) -> Reason {
        match self {
            Self::Resume => Reason::FoldedTurns,
            Self::Fold => Reason::Folded,
            Self::Trim => Reason::FoldedHarder,
            Self::Minimal => Reason::FoldedMost,
        }
    }
}

/// Applies a level to a draft. The numbers come from the policy's `emergency` stage, or from its
/// defaults.
pub(super) fn apply_level(draft: &mut Draft<'_>, policy: &Policy, level: FoldLevel) {
    if level == FoldLevel::Resume {
        keep_latest_turns(draft, policy);
    }
    if level >= FoldLevel::Trim && !policy.stages.iter().any(|stage| stage.trim(draft)) {
        Emergency::default().trim_now(draft);
    }
    if level >= FoldLevel::Minimal {
        for at in draft.newest_first() {
            draft.drop(at, Reason::OnlyNewest);
        }
    }
}

/// Keeps the latest turns as request and answer. The running turn stays whole.
fn keep_latest_turns(draft: &mut Draft<'_>, policy: &Policy) {
    let max = policy
        .setting("halve.turns")
        .and_then(|turns| usize::try_from(turns.as_integer()?).ok())
        .unwrap_or(Halve::default().turns);
    let turns = turns_to_restore(max);
    keep_turns(draft, turns + 1, Reason::OlderThanRestart { turns });
    for turn in draft.kept_turns().into_iter().rev().skip(1) {
        to_request_and_answer(draft, turn);
    }
}

/// Returns how many turns stay after a restart if a context has at most `max_turns`: a sixth of
/// them, and never fewer than three.
const fn turns_to_restore(max_turns: usize) -> usize {
    let sixth = max_turns / 6;
    if sixth > 3 { sixth } else { 3 }
}

#[cfg(test)]
mod tests {
    use super::turns_to_restore;

    /// E.6, S2.27, C2.10: a sixth, rounded down, and at least three.
    #[test]
    fn e06_s2_27_a_sixth_of_the_turns_is_restored() {
        assert_eq!([20, 18, 24, 30, 6, 0].map(turns_to_restore), [3, 3, 4, 5, 3, 3]);
    }
}
