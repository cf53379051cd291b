//! Learning from real usage: the provider's own count of earlier calls corrects the estimate.

/// How much a single observation counts, and how much one that took more than was thought: a prompt
/// that was counted too low may be refused, one that was counted too high only wastes room.
const WEIGHT: f64 = 0.2;
const WEIGHT_OF_MORE: f64 = 0.5;

/// How far one observation may move the factor, and the range it stays in: one strange call must
/// not throw the next plan.
const LARGEST_STEP: f64 = 0.15;
const RANGE: (f64, f64) = (0.5, 2.0);

/// The learned ratio between real and estimated tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    factor: f64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { factor: 1.0 }
    }
}

impl Calibration {
    /// A calibration that was learned before.
    #[must_use]
    pub const fn of(factor: f64) -> Self {
        Self { factor: factor.clamp(RANGE.0, RANGE.1) }
    }

    /// The factor by which estimates are multiplied.
    #[must_use]
    pub const fn factor(&self) -> f64 {
        self.factor
    }

    /// Takes in one call: what was estimated for its prompt (uncorrected), and what the provider
    /// reported.
    pub fn observe(&mut self, estimated: usize, real: usize) {
        if estimated == 0 || real == 0 {
            return;
        }
        let seen = as_float(real) / as_float(estimated);
        let weight = if seen > self.factor { WEIGHT_OF_MORE } else { WEIGHT };
        let step = ((seen - self.factor) * weight).clamp(-LARGEST_STEP, LARGEST_STEP);
        self.factor = (self.factor + step).clamp(RANGE.0, RANGE.1);
    }

    /// An estimate, corrected.
    #[must_use]
    pub fn correct(&self, estimated: usize) -> usize {
        as_tokens(as_float(estimated) * self.factor)
    }

    /// How many estimated tokens fill a real budget.
    #[must_use]
    pub fn uncorrect(&self, real: usize) -> usize {
        as_tokens(as_float(real) / self.factor)
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
const fn as_float(tokens: usize) -> f64 {
    tokens as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive count far below 2^52"
)]
const fn as_tokens(tokens: f64) -> usize {
    tokens as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_converges_on_the_real_ratio() {
        let mut calibration = Calibration::default();
        for _ in 0..40 {
            calibration.observe(1_000, 1_400);
        }
        assert!((calibration.factor() - 1.4).abs() < 0.01, "{}", calibration.factor());
        assert_eq!(calibration.correct(1_000), 1_399);
    }

    #[test]
    fn one_wild_call_moves_it_by_a_bounded_step() {
        let mut calibration = Calibration::default();
        calibration.observe(10, 1_000_000);
        assert!((calibration.factor() - 1.15).abs() < 1e-9);
        for _ in 0..100 {
            calibration.observe(10, 1_000_000);
        }
        assert!((calibration.factor() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn usage_of_nothing_teaches_nothing() {
        let mut calibration = Calibration::default();
        calibration.observe(0, 50);
        calibration.observe(50, 0);
        assert_eq!(calibration, Calibration::default());
    }
}
