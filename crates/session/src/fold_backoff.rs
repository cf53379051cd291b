//! Folds that do not help. When the context is full again right after a fold, three times in a row,
//! the next fold keeps less; when that does not help either, somebody is told. There is no loop:
//! each call folds once.

use waterline::plan::FoldLevel;

/// So many calls after a fold, the context may be full again without anybody wondering.
const SOON: u64 = 2;

/// So many folds in a row that do not hold are enough.
const PATIENCE: usize = 3;

/// The folds of a session, as far as they matter for the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folds {
    calls: u64,
    newest: Option<u64>,
    in_vain: usize,
    told: bool,
}

impl Folds {
    /// A call came through.
    pub(crate) const fn called(&mut self) {
        self.calls += 1;
    }

    /// A fold was made; whether it came under the high mark is `holds`. Says whether the user is to
    /// be told that folding does not help, which happens once.
    pub(crate) fn folded(&mut self, holds: bool) -> bool {
        let is_soon = self.newest.is_some_and(|newest| self.calls - newest <= SOON);
        self.newest = Some(self.calls);
        self.in_vain = if is_soon || !holds { self.in_vain + 1 } else { 0 };
        if self.in_vain == 0 {
            self.told = false;
        }
        let tells = self.in_vain >= PATIENCE + 2 && !self.told;
        self.told |= tells;
        tells
    }

    /// How hard the next fold must be, if it must be harder than the policy says.
    pub(crate) const fn rung(&self) -> Option<FoldLevel> {
        match self.in_vain {
            0..PATIENCE => None,
            PATIENCE => Some(FoldLevel::Trim),
            _ => Some(FoldLevel::Minimal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_folds_in_vain_make_the_next_ones_harder_and_then_somebody_is_told_once() {
        let mut folds = Folds::default();
        let mut told = 0;
        let mut rungs = Vec::new();
        for _ in 0..8 {
            rungs.push(folds.rung());
            told += usize::from(folds.folded(true));
            folds.called();
        }
        assert_eq!(rungs.get(..4), Some(&[None; 4][..]), "the first fold is not in vain yet");
        assert_eq!(rungs.get(4..6), Some(&[Some(FoldLevel::Trim), Some(FoldLevel::Minimal)][..]));
        assert_eq!(told, 1);
        for _ in 0..10 {
            folds.called();
        }
        folds.folded(true);
        assert_eq!(folds.rung(), None, "a fold that held for a while ends it");
    }
}
