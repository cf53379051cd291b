//! Corrects estimates with the token counts that the provider reported for earlier calls.

/// The weight of one observation.
const WEIGHT: f64 = 0.2;

/// The weight of an observation with more tokens than estimated. It is higher, because a prompt
/// that is estimated too low may be rejected, while one that is estimated too high only wastes
/// space.
const WEIGHT_OF_MORE: f64 = 0.5;

/// The largest change of the factor by one observation: one unusual call must not upset the next
/// plan.
const LARGEST_STEP: f64 = 0.15;

/// The range of the factor. A report can widen the window by half at most: a server that reports
/// too few tokens must not lead to prompts that it truncates.
const RANGE: (f64, f64) = (2.0 / 3.0, 2.0);

/// A smaller ratio is not a count of the whole prompt. Some servers report only the tokens that
/// their cache did not have.
const MIN_RATIO: f64 = 0.4;

/// If a prompt grew by more estimated tokens than the report times this, the report is not a count
/// of the whole prompt.
const MAX_GROWTH_RATIO: usize = 3;

/// The learned ratio between real and estimated tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    factor: f64,
    /// The previous call: its estimate and what was reported.
    previous: Option<(usize, usize)>,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { factor: 1.0, previous: None }
    }
}

impl Calibration {
    /// Restores a calibration that was learned before.
    #[must_use]
    pub const fn of(factor: f64) -> Self {
        Self { factor: factor.clamp(RANGE.0, RANGE.1), previous: None }
    }

    /// Continues after a call of an earlier process: the estimate for its prompt, and what the
    /// provider reported. The next report is compared with it.
    #[must_use]
    pub const fn after(self, estimated: usize, real: usize) -> Self {
        let previous = if estimated > 0 && real > 0 { Some((estimated, real)) } else { None };
        Self { previous, ..self }
    }

    /// Returns the factor by which estimates are multiplied.
    #[must_use]
    pub const fn factor(&self) -> f64 {
        self.factor
    }

    /// Records a call: the uncorrected estimate for its prompt, and what the provider reported. The
    /// factor is lowered only if the reports follow what is sent.
    pub fn observe(&mut self, estimated: usize, real: usize) {
        if estimated == 0 || real == 0 {
            return;
        }
        let observed = as_float(real) / as_float(estimated);
        let previous = self.previous.replace((estimated, real));
        let follows = previous.is_some_and(|previous| follows(previous, (estimated, real)));
        if observed < self.factor && !(follows && observed >= MIN_RATIO) {
            return;
        }
        let weight = if observed > self.factor { WEIGHT_OF_MORE } else { WEIGHT };
        let step = ((observed - self.factor) * weight).clamp(-LARGEST_STEP, LARGEST_STEP);
        self.factor = (self.factor + step).clamp(RANGE.0, RANGE.1);
    }

    /// Corrects an estimate.
    #[must_use]
    pub fn to_provider_tokens(&self, estimated: usize) -> usize {
        as_tokens(as_float(estimated) * self.factor)
    }

    /// Returns the estimate that corresponds to a real number of tokens.
    #[must_use]
    pub fn to_counter_tokens(&self, real: usize) -> usize {
        as_tokens(as_float(real) / self.factor)
    }
}

/// Whether two successive reports changed as what was sent did.
const fn follows(previous: (usize, usize), current: (usize, usize)) -> bool {
    let ((sent_before, real_before), (sent, real)) = (previous, current);
    if sent >= sent_before {
        real >= real_before
            && (real - real_before).saturating_mul(MAX_GROWTH_RATIO) >= sent - sent_before
    } else {
        real < real_before
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
        assert_eq!(calibration.to_provider_tokens(1_000), 1_399);
    }

    #[test]
    fn one_unusual_call_changes_it_by_a_bounded_step() {
        let mut calibration = Calibration::default();
        calibration.observe(10, 1_000_000);
        assert!((calibration.factor() - 1.15).abs() < 1e-9);
        for _ in 0..100 {
            calibration.observe(10, 1_000_000);
        }
        assert!((calibration.factor() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn it_is_lowered_only_by_reports_that_follow_what_is_sent() {
        let after = |reports: &mut dyn FnMut(usize) -> usize| {
            let mut calibration = Calibration::default();
            for call in 0..200 {
                // Grows for ten calls, then a fold shrinks it.
                let sent = 2_000 + call % 10 * 400;
                calibration.observe(sent, reports(sent));
            }
            calibration.factor()
        };
        assert!((after(&mut |sent| sent * 8 / 10) - 0.8).abs() < 0.01, "an honest report");
        assert!((after(&mut |sent| sent / 2) - 2.0 / 3.0).abs() < 0.01, "the factor has a limit");
        assert!((after(&mut |_| 100) - 1.0).abs() < 1e-9, "always the same");
        assert!((after(&mut |_| 1_900) - 1.0).abs() < 1e-9, "always the same");
        let mut before = 0;
        let mut uncached = |sent: usize| {
            let new = sent.checked_sub(before).unwrap_or(sent);
            before = sent;
            new
        };
        assert!((after(&mut uncached) - 1.0).abs() < 1e-9, "only what the cache did not have");
    }

    #[test]
    fn empty_usage_is_ignored() {
        let mut calibration = Calibration::default();
        calibration.observe(0, 50);
        calibration.observe(50, 0);
        assert_eq!(calibration, Calibration::default());
    }
}
