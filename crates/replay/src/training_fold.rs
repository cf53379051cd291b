//! [`TrainingFold`]: the values that a fold could have listed in its ledger, and which of them
//! later calls needed.

use rustc_hash::FxHashMap;
use waterline::ledger::{FEATURES, Index, features};

/// Features in single precision, because there are many.
pub type Narrow = [f32; FEATURES.len()];

/// The training data of one fold.
#[derive(Clone, Debug, Default)]
pub struct TrainingFold {
    /// The features of the values it could have listed.
    pub candidates: Vec<Narrow>,
    /// How often each of these values was needed before the next fold.
    pub needed: Vec<u32>,
    /// The number of characters that the ledger had room for.
    pub room: f64,
    indexes: FxHashMap<Box<str>, usize>,
}

impl TrainingFold {
    /// Collects the values of `index` that `hidden` accepts as candidates.
    pub(crate) fn of(index: &Index, hidden: impl Fn(&str) -> bool) -> Self {
        let mut training_fold = Self::default();
        for (value, seen) in index.iter().filter(|(value, _)| hidden(value)) {
            training_fold.indexes.insert(value.into(), training_fold.candidates.len());
            #[expect(clippy::cast_possible_truncation, reason = "single precision is enough")]
            training_fold
                .candidates
                .push(features(index, value, seen).map(|feature| feature as f32));
        }
        training_fold.needed = vec![0; training_fold.candidates.len()];
        training_fold
    }

    /// Records that a call needed a value that no message in the context shows.
    pub(crate) fn need(&mut self, value: &str) {
        if let Some(needed) = self.indexes.get(value).and_then(|&at| self.needed.get_mut(at)) {
            *needed += 1;
        }
    }

    /// Returns whether any value was needed; otherwise the fold teaches nothing.
    #[must_use]
    pub fn teaches(&self) -> bool {
        self.needed.iter().any(|&needed| needed > 0)
    }
}
