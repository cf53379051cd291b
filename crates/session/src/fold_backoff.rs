//! Detects folds that do not help. If the context is full again soon after a fold, three times in a
//! row, the next fold keeps less. If that does not help either, the user is warned. There is no
//! loop: each call folds once.

use waterline::plan::FoldLevel;

/// A fold is ineffective if the context is full again within this many calls.
const SOON_CALLS: u64 = 2;

/// After this many ineffective folds in a row, the next fold keeps less.
const MAX_INEFFECTIVE: usize = 3;

/// The recent folds of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoldBackoff {
    calls: u64,
    newest: Option<u64>,
    ineffective: usize,
    warned: bool,
}

impl FoldBackoff {
    /// Records a successful call.
    pub(crate) const fn called(&mut self) {
        self.calls += 1;
    }

    /// Records a fold; `fits` tells whether it got below the high mark. Returns whether to warn the
    /// user that folding does not help, which happens once.
    pub(crate) fn folded(&mut self, fits: bool) -> bool {
        let is_soon = self.newest.is_some_and(|newest| self.calls - newest <= SOON_CALLS);
        self.newest = Some(self.calls);
        self.ineffective = if is_soon || !fits { self.ineffective + 1 } else { 0 };
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
            MAX_INEFFECTIVE => Some(FoldLevel::Trim),
            _ => Some(FoldLevel::Minimal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ineffective_folds_get_harder_and_then_warn_once() {
        let mut folds = FoldBackoff::default();
        let mut warnings = 0;
        let mut levels = Vec::new();
        for _ in 0..8 {
            levels.push(folds.level());
            warnings += usize::from(folds.folded(true));
            folds.called();
        }
        assert_eq!(
            levels.get(..4),
            Some(&[None; 4][..]),
            "the first fold does not count as ineffective"
        );
        assert_eq!(levels.get(4..6), Some(&[Some(FoldLevel::Trim), Some(FoldLevel::Minimal)][..]));
        assert_eq!(warnings, 1);
        for _ in 0..10 {
            folds.called();
        }
        folds.folded(true);
        assert_eq!(folds.level(), None, "an effective fold resets the count");
    }
}
