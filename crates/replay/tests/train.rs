//! Training: needed values must rank above the others.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use waterline::ledger::{FEATURES, Weights};
use waterline_replay::train::{Fit, fit};
use waterline_replay::training_fold::TrainingFold;

fn feature(name: &str) -> usize {
    FEATURES.iter().position(|(known, _)| *known == name).unwrap()
}

/// Two hundred values of the same length. Those with the feature are needed; the ledger has room
/// for twenty.
fn training_fold(feature_name: &str) -> TrainingFold {
    let mut training_fold = TrainingFold::default();
    training_fold.room = 20.0 * 16.0;
    for at in 0..200 {
        let mut features = [0.0; FEATURES.len()];
        features[feature("length")] = 4.0;
        features[feature(feature_name)] = if at % 20 == 0 { 3.0 } else { 0.0 };
        training_fold.candidates.push(features);
        training_fold.needed.push(u32::from(at % 20 == 0));
    }
    training_fold
}

#[test]
fn common_feature_of_needed_values_gains_weight() {
    let training_fold = training_fold("mentions");
    let learned = fit(&[&training_fold], &Weights::default(), Fit::default());
    assert!(learned.0[feature("mentions")] > 0.3, "{:?}", learned);
    assert!(learned.0[feature("crowd")].abs() < 1e-6, "a constant feature keeps its weight");
}

#[test]
fn fold_without_needs_changes_no_weight() {
    let mut idle = training_fold("mentions");
    idle.needed.iter_mut().for_each(|needed| *needed = 0);
    let start = Weights::shipped();
    assert_eq!(fit(&[&idle], start, Fit::default()), *start);
}
