//! Trains the ledger's weights on which of the values that a fold could have listed were needed
//! afterwards.
//!
//! Only the margin counts: a needed value should rank above the last value that the ledger had room
//! for. Values are compared only within a fold, so that differences between conversations have no
//! influence.

use waterline::ledger::{FEATURES, Features, Weights};

use crate::training_fold::{Narrow, TrainingFold};

/// The parameters of a fit.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// Rounds of gradient ascent.
    pub rounds: usize,
    /// How strongly weights are pulled back to their start.
    pub damping: f64,
}

impl Default for Fit {
    fn default() -> Self {
        Self { rounds: 200, damping: 0.2 }
    }
}

/// The softness of the margin, in units of worth.
const SOFTNESS: f64 = 0.7;

/// The number of values around the margin whose mean represents it.
const MARGIN: usize = 40;

/// Returns weights under which more of the needed values are listed.
#[must_use]
pub fn fit(training_folds: &[&TrainingFold], start: &Weights, settings: Fit) -> Weights {
    let useful: Vec<&TrainingFold> =
        training_folds.iter().copied().filter(|training_fold| training_fold.teaches()).collect();
    let mut weights = start.clone();
    let mut mean = [0.0; FEATURES.len()];
    let mut square = [0.0; FEATURES.len()];
    for round in 1..=settings.rounds {
        let slope = gradient(&useful, &weights, start, settings.damping);
        step(&mut weights.0, &slope, &mut mean, &mut square, round);
    }
    weights
}

/// Makes one step of Adam, with the decay rates of the paper.
fn step(
    weights: &mut Features,
    slope: &Features,
    mean: &mut Features,
    square: &mut Features,
    round: usize,
) {
    let rate = if round > 120 { 0.01 } else { 0.05 };
    let exponent = i32::try_from(round).unwrap_or(i32::MAX);
    let first = 1.0 - 0.9_f64.powi(exponent);
    let second = 1.0 - 0.999_f64.powi(exponent);
    for (((weight, slope), mean), square) in weights.iter_mut().zip(slope).zip(mean).zip(square) {
        *mean = 0.9 * *mean + 0.1 * slope;
        *square = 0.999 * *square + 0.001 * slope * slope;
        *weight += rate * (*mean / first) / ((*square / second).sqrt() + 1e-8);
    }
}

/// Returns the gradient per needed value.
fn gradient(
    training_folds: &[&TrainingFold],
    weights: &Weights,
    start: &Weights,
    damping: f64,
) -> Features {
    let mut slope = [0.0; FEATURES.len()];
    let mut total = 0.0;
    for training_fold in training_folds {
        total += add_training_fold(&mut slope, training_fold, weights);
    }
    for ((slope, weight), start) in slope.iter_mut().zip(&weights.0).zip(&start.0) {
        *slope = *slope / f64::max(total, 1.0) - damping * (weight - start);
    }
    slope
}

/// Adds the gradient of one fold and returns its total weight. A needed value below the margin
/// pulls the weights towards its features and away from those at the margin; one far above the
/// margin has no influence.
fn add_training_fold(slope: &mut Features, training_fold: &TrainingFold, weights: &Weights) -> f64 {
    let worths: Vec<f64> =
        training_fold.candidates.iter().map(|candidate| worth(candidate, weights)).collect();
    let Some((level, mean)) = margin(training_fold, &worths) else { return 0.0 };
    let mut total = 0.0;
    for ((candidate, worth), needed) in
        training_fold.candidates.iter().zip(&worths).zip(&training_fold.needed)
    {
        if *needed == 0 {
            continue;
        }
        // The weight grows with the logarithm, so that a value that is used all the time does not
        // drown out the others.
        let weight = (1.0 + f64::from(*needed)).log2();
        let pull = weight / (1.0 + ((worth - level) / SOFTNESS).exp());
        for ((slope, feature), other) in slope.iter_mut().zip(candidate).zip(&mean) {
            *slope += pull * (f64::from(*feature) - other) / SOFTNESS;
        }
        total += weight;
    }
    total
}

/// Returns the worth of the last value that the ledger had room for, and the mean features of the
/// values around it.
fn margin(training_fold: &TrainingFold, worths: &[f64]) -> Option<(f64, Features)> {
    let mut order: Vec<(f64, &Narrow)> =
        worths.iter().copied().zip(&training_fold.candidates).collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut room = training_fold.room;
    let end = order.iter().position(|(_, candidate)| {
        room -= length(candidate) + 1.0;
        room < 0.0
    })?;
    let near = order.get(end.saturating_sub(MARGIN / 2)..(end + MARGIN / 2).min(order.len()))?;
    let mut mean = [0.0; FEATURES.len()];
    for (_, candidate) in near {
        mean.iter_mut().zip(*candidate).for_each(|(sum, feature)| *sum += f64::from(*feature));
    }
    let count = crate::price::tokens(near.len());
    mean.iter_mut().for_each(|sum| *sum /= count);
    Some((order.get(end)?.0, mean))
}

/// Returns the logarithm of a value's odds per character.
fn worth(candidate: &Narrow, weights: &Weights) -> f64 {
    let odds: f64 = candidate
        .iter()
        .zip(&weights.0)
        .map(|(feature, weight)| f64::from(*feature) * weight)
        .sum();
    odds - (length(candidate) + 2.0).ln()
}

/// Returns the number of characters of a value.
fn length(candidate: &Narrow) -> f64 {
    let at = FEATURES.iter().position(|(name, _)| *name == "length").unwrap_or(0);
    candidate.get(at).map_or(0.0, |doublings| f64::from(*doublings).exp2() - 1.0)
}
