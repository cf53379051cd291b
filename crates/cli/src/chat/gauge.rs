//! How full the context is, in a few words: what it holds of what it may, what the cache served,
//! what it cost so far.

use waterline_log::Usage;
use waterline_session::{Level, LiveSession};

use crate::lang::say;

/// What stands at the prompt.
#[derive(Clone, Debug, Default)]
pub(super) struct Gauge {
    pub(super) text: String,
    /// How near the next fold is.
    pub(super) level: Level,
}

/// The gauge.
pub(super) fn of(live: &LiveSession, calls: &[Usage]) -> Gauge {
    let (used, high) = (live.context_tokens(), live.high_mark());
    let mut parts = vec![fill(used, high, live.window())];
    parts.extend(cached(calls));
    parts.extend(sum(calls).map(dollars));
    Gauge { text: format!("{} ", parts.join(" · ")), level: Level::of(used, high) }
}

/// What is used of what may be used before a fold, and the window where it is larger.
fn fill(used: usize, high: usize, window: usize) -> String {
    let [used, high, window] = [used, high, window].map(short);
    let window = if window == high { String::new() } else { format!(" ({window})") };
    say(format!("{used} of {high}{window}"), format!("{used} / {high}{window}"))
}

/// The share of all prompt tokens that the cache served.
fn cached(calls: &[Usage]) -> Option<String> {
    let prompt: u64 =
        calls.iter().map(|call| call.input + call.cache_read + call.cache_write).sum();
    let cached: u64 = calls.iter().map(|call| call.cache_read).sum();
    let share = (cached * 100).checked_div(prompt)?;
    Some(say(format!("cache {share}%"), format!("缓存 {share}%")))
}

/// A price as it is read at a glance; a small one with the digits that it has.
fn dollars(price: f64) -> String {
    if price < 0.01 { format!("${price:.4}") } else { format!("${price:.2}") }
}

/// What calls cost, where that is known.
fn sum(calls: &[Usage]) -> Option<f64> {
    let known: Vec<i64> = calls.iter().filter_map(|call| call.price).collect();
    #[expect(clippy::cast_precision_loss, reason = "a price is shown with four digits")]
    let sum = known.iter().sum::<i64>() as f64 / 1e6;
    (!known.is_empty()).then_some(sum)
}

/// The same as a text, exactly.
pub(super) fn price(calls: &[Usage]) -> Option<String> {
    sum(calls).map(|sum| format!("{sum:.4}"))
}

/// A number of tokens in three digits or so.
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
    fn the_window_is_shown_where_a_fold_comes_before_it_is_full() {
        assert_eq!(fill(3_600, 28_000, 28_000), "3.6k of 28k");
        assert_eq!(fill(3_600, 24_000, 28_000), "3.6k of 24k (28k)");
    }

    #[test]
    fn the_price_is_shown_where_it_is_known() {
        let call = |price| Usage { input: 51, cache_read: 49, price, ..Usage::default() };
        assert_eq!(cached(&[call(None)]).unwrap(), "cache 49%");
        assert_eq!(cached(&[]), None);
        assert_eq!(sum(&[call(None)]), None);
        assert_eq!(sum(&[call(Some(41_700)), call(None)]).map(dollars).unwrap(), "$0.04");
        assert_eq!(dollars(0.0012), "$0.0012");
        assert_eq!(price(&[call(Some(41_700))]).unwrap(), "0.0417");
    }
}
