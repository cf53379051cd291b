//! The gauge in the prompt: how full the context is, the share of cached tokens, the price so far.

use waterline_log::Usage;
use waterline_session::{Level, LiveSession};

use crate::number::short;
use crate::text;

#[derive(Clone, Debug, Default)]
pub(super) struct Gauge {
    pub(super) text: String,
    /// How close the next fold is.
    pub(super) level: Level,
    /// The price of the session so far, if it is known.
    pub(super) price: Option<String>,
}

impl Gauge {
    /// Returns the gauge of a session whose context has `used` tokens, with these calls.
    pub(super) fn new(live: &LiveSession, used: usize, calls: &[Usage]) -> Self {
        let high = live.high_mark();
        let price = sum(calls).map(dollars);
        let mut parts = vec![fill(used, high, live.window())];
        parts.extend(cached(calls));
        parts.extend(price.clone());
        let text = format!("{} ", parts.join(" · "));
        Self { text, level: Level::of(used, high), price }
    }
}

/// Formats the tokens used, the high mark, and the window if it is larger.
fn fill(used: usize, high: usize, window: usize) -> String {
    let [used, high, window] = [used, high, window].map(short);
    if window == high {
        text!("gauge-fill", used = used, high = high)
    } else {
        text!("gauge-fill-window", used = used, high = high, window = window)
    }
}

/// Formats the share of prompt tokens that came from the cache.
fn cached(calls: &[Usage]) -> Option<String> {
    let prompt: u64 =
        calls.iter().map(|call| call.input + call.cache_read + call.cache_write).sum();
    let cached: u64 = calls.iter().map(|call| call.cache_read).sum();
    let written: u64 = calls.iter().map(|call| call.cache_write).sum();
    if cached + written == 0 {
        // A server without a cache, or one that does not report it.
        return None;
    }
    let share = (cached * 100).checked_div(prompt)?;
    Some(text!("gauge-cache", share = share))
}

/// Formats a price with two digits, a small one with four.
fn dollars(price: f64) -> String {
    if price < 0.01 { format!("${price:.4}") } else { format!("${price:.2}") }
}

/// Returns the price of the calls in dollars, if it is known for any of them.
fn sum(calls: &[Usage]) -> Option<f64> {
    let known: Vec<i64> = calls.iter().filter_map(|call| call.price).collect();
    #[expect(clippy::cast_precision_loss, reason = "a price is shown with four digits")]
    let sum = known.iter().sum::<i64>() as f64 / 1e6;
    (!known.is_empty()).then_some(sum)
}

/// Formats the price of the calls with four digits.
pub(super) fn price(calls: &[Usage]) -> Option<String> {
    sum(calls).map(|sum| format!("${sum:.4}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_shown_if_it_is_larger_than_the_high_mark() {
        assert_eq!(fill(3_600, 28_000, 28_000), "3.6k of 28k");
        assert_eq!(fill(3_600, 24_000, 28_000), "3.6k of 24k (28k)");
    }

    #[test]
    fn the_price_is_shown_if_it_is_known() {
        let call = |price| Usage { input: 51, cache_read: 49, price, ..Usage::default() };
        assert_eq!(cached(&[call(None)]).unwrap(), "cache 49%");
        assert_eq!(cached(&[]), None);
        let none = Usage { input: 51, ..Usage::default() };
        assert_eq!(cached(std::slice::from_ref(&none)), None, "no cache is reported");
        assert_eq!(cached(&[Usage { cache_write: 51, ..none }]).unwrap(), "cache 0%");
        assert_eq!(sum(&[call(None)]), None);
        assert_eq!(sum(&[call(Some(41_700)), call(None)]).map(dollars).unwrap(), "$0.04");
        assert_eq!(dollars(0.0012), "$0.0012");
        assert_eq!(price(&[call(Some(41_700))]).unwrap(), "$0.0417");
    }
}
