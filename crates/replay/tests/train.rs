//! Training: what was needed must come to stand above what was not.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use waterline::ledger::{FEATURES, Weights};
use waterline_replay::train::{Fit, fit};
use waterline_replay::training_fold::TrainingFold;

fn feature(name: &str) -> usize {
    FEATURES.iter().position(|(known, _)| *known == name).unwrap()
}

/// Two hundred values of one length, of which those with a mark are needed; the ledger has room for
/// twenty.
fn training_fold(mark: &str) -> TrainingFold {
    let mut training_fold = TrainingFold::default();
    training_fold.room = 20.0 * 16.0;
    for at in 0..200 {
        let mut features = [0.0; FEATURES.len()];
        features[feature("length")] = 4.0;
        features[feature(mark)] = if at % 20 == 0 { 3.0 } else { 0.0 };
        training_fold.candidates.push(features);
        training_fold.needed.push(u32::from(at % 20 == 0));
    }
    training_fold
}

#[test]
fn what_needed_values_have_in_common_gains_weight() {
    let training_fold = training_fold("mentions");
    let learned = fit(&[&training_fold], &Weights::default(), Fit::default());
    assert!(learned.0[feature("mentions")] > 0.3, "{:?}", learned);
    assert!(learned.0[feature("crowd")].abs() < 1e-6, "what does not vary teaches nothing");
}

#[test]
fn a_lesson_in_which_nothing_was_needed_teaches_nothing() {
    let mut idle = training_fold("mentions");
    idle.needed.iter_mut().for_each(|needed| *needed = 0);
    let start = Weights::shipped();
    assert_eq!(fit(&[&idle], start, Fit::default()), *start);
}
