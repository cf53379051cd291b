//! The gauge in the prompt: how full the context is, the share of cached tokens, the price so far.

use waterline_log::Usage;
use waterline_session::{Level, LiveSession};

use crate::text;

#[derive(Clone, Debug, Default)]
pub(super) struct Gauge {
    pub(super) text: String,
    /// How close the next fold is.
    pub(super) level: Level,
}

/// Returns the gauge of a session with these calls.
pub(super) fn of(live: &LiveSession, calls: &[Usage]) -> Gauge {
    let used = live.context_tokens();
    let high = live.high_mark();
    let mut parts = vec![fill(used, high, live.window())];
    parts.extend(cached(calls));
    parts.extend(sum(calls).map(dollars));
    Gauge { text: format!("{} ", parts.join(" · ")), level: Level::of(used, high) }
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
    sum(calls).map(|sum| format!("{sum:.4}"))
}

/// Formats a number of tokens with about three digits: `1.2k`, `87k`.
pub(super) fn short(tokens: usize) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..10_000 => format!("{}.{}k", tokens / 1_000, tokens % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{}.{}m", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_shown_short() {
        let shown: Vec<String> =
            [0, 999, 1_250, 87_100, 1_048_576].into_iter().map(short).collect();
        assert_eq!(shown, ["0", "999", "1.2k", "87k", "1.0m"]);
    }

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
        assert_eq!(sum(&[call(None)]), None);
        assert_eq!(sum(&[call(Some(41_700)), call(None)]).map(dollars).unwrap(), "$0.04");
        assert_eq!(dollars(0.0012), "$0.0012");
        assert_eq!(price(&[call(Some(41_700))]).unwrap(), "0.0417");
    }
}
