//! Folds on request: from the user, for a summary that was made in the background, or because a
//! provider refused a context as too long. Each level keeps less than the one before it.

use crate::draft::Draft;
use crate::policy::Policy;
use crate::stage::Emergency;

/// A request to fold now, whether or not a fold is due.
#[derive(Clone, Copy, Debug)]
pub struct Forced<'a> {
    /// How much to drop.
    pub rung: FoldLevel,
    /// Why, for people.
    pub reason: &'a str,
}

/// How much a fold drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FoldLevel {
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
            Self::Fold => Some(Self::Trim),
            Self::Trim => Some(Self::Minimal),
            Self::Minimal => None,
        }
    }

    /// Describes what a fold at this level did, for people.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Fold => "folded",
            Self::Trim => "folded; long texts were truncated and few turns kept",
            Self::Minimal => "folded to the task, pins, summary and newest message",
        }
    }
}

/// Applies a level to a draft. The numbers come from the policy's `emergency` stage, or from its
/// defaults.
pub(super) fn apply_level(draft: &mut Draft<'_>, policy: &Policy, level: FoldLevel) {
    if level >= FoldLevel::Trim && !policy.stages.iter().any(|stage| stage.trim(draft)) {
        Emergency::default().trim_now(draft);
    }
    if level >= FoldLevel::Minimal {
        for at in draft.newest_first() {
            draft.drop(at, "only the task, pins and the newest message stay");
        }
    }
}
