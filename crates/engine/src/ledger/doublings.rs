//! The scale of counts: each doubling adds the same.

/// Returns how often 1 must be doubled to reach `1 + count`.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(super) fn doublings(count: usize) -> f64 {
    (1.0 + count as f64).log2()
}
