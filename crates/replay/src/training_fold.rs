//! What one fold could have listed in its ledger, and what the calls after it needed of that.

use rustc_hash::FxHashMap;
use waterline::ledger::{FEATURES, Index, features};

/// Features in half the space: there are many.
pub type Narrow = [f32; FEATURES.len()];

/// One fold to learn from.
#[derive(Clone, Debug, Default)]
pub struct TrainingFold {
    /// The values it could have listed.
    pub candidates: Vec<Narrow>,
    /// How often each of them was needed before the next fold.
    pub needed: Vec<u32>,
    /// The characters that the ledger had room for.
    pub room: f64,
    places: FxHashMap<Box<str>, usize>,
}

impl TrainingFold {
    /// The training_fold of a fold that hides the values that `hidden` accepts.
    pub(crate) fn of(index: &Index, hidden: impl Fn(&str) -> bool) -> Self {
        let mut training_fold = Self::default();
        for (value, seen) in index.iter().filter(|(value, _)| hidden(value)) {
            training_fold.places.insert(value.into(), training_fold.candidates.len());
            #[expect(clippy::cast_possible_truncation, reason = "half the precision is plenty")]
            training_fold
                .candidates
                .push(features(index, value, seen).map(|feature| feature as f32));
        }
        training_fold.needed = vec![0; training_fold.candidates.len()];
        training_fold
    }

    /// A call needed a value that no message shows any more.
    pub(crate) fn need(&mut self, value: &str) {
        if let Some(needed) = self.places.get(value).and_then(|&at| self.needed.get_mut(at)) {
            *needed += 1;
        }
    }

    /// Whether anything was needed.
    #[must_use]
    pub fn teaches(&self) -> bool {
        self.needed.iter().any(|&needed| needed > 0)
    }
}
