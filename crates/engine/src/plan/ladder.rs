//! Folds that somebody asks for: a person, a summary that came late, or a provider that refused a
//! context as too long. Each rung of the ladder keeps less than the one before.

use crate::draft::Draft;
use crate::policy::Policy;
use crate::stage::Emergency;

/// A fold that somebody wants now.
#[derive(Clone, Copy, Debug)]
pub struct Forced<'a> {
    /// How hard.
    pub rung: FoldLevel,
    /// Why, for a person.
    pub reason: &'a str,
}

/// How hard a fold is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FoldLevel {
    /// As the policy says.
    #[default]
    Fold,
    /// Long texts are cut, and few turns stay.
    Trim,
    /// Only the system prompt, the task, pins, the note, the newest user message and the newest
    /// step stay.
    Minimal,
}

impl FoldLevel {
    /// The next harder one.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self {
            Self::Fold => Some(Self::Trim),
            Self::Trim => Some(Self::Minimal),
            Self::Minimal => None,
        }
    }

    /// What it does, for a person.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Fold => "folded",
            Self::Trim => "folded, with long texts cut and few turns",
            Self::Minimal => "folded to the task, pins, notes and the newest message",
        }
    }
}

/// Climbs to a rung, with the figures of the policy's own ladder.
pub(super) fn climb(draft: &mut Draft<'_>, policy: &Policy, rung: FoldLevel) {
    if rung >= FoldLevel::Trim && !policy.stages.iter().any(|stage| stage.trim(draft)) {
        Emergency::default().trim_now(draft);
    }
    if rung >= FoldLevel::Minimal {
        for at in draft.newest_first() {
            draft.drop(at, "only the task, pins and the newest message stay");
        }
    }
}
