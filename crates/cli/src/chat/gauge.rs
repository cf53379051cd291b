//! How full the context is, in a few signs: used / high mark / window, what the cache served, what it cost so far.

use waterline_log::Usage;
use waterline_session::{Level, Live};

/// The gauge.
pub(super) fn line(live: &Live, calls: &[Usage]) -> String {
    let level = match live.level() {
        Level::Normal | Level::Info => "",
        Level::Warning => "!",
        Level::Critical => "!!",
    };
    let mut parts =
        vec![format!("{}/{}/{}{level}", short(live.prompt_tokens()), short(live.high_mark()), short(live.window()))];
    let prompt: u64 = calls.iter().map(|call| call.input + call.cache_read + call.cache_write).sum();
    let cached: u64 = calls.iter().map(|call| call.cache_read).sum();
    if let Some(share) = (cached * 100).checked_div(prompt) {
        parts.push(format!("{share}%"));
    }
    if let Some(price) = price(calls) {
        parts.push(price);
    }
    format!("{} ", parts.join(" "))
}

/// What calls cost, where that is known.
pub(super) fn price(calls: &[Usage]) -> Option<String> {
    let known: Vec<i64> = calls.iter().filter_map(|call| call.price).collect();
    #[expect(clippy::cast_precision_loss, reason = "a price is shown with four digits")]
    let sum = known.iter().sum::<i64>() as f64 / 1e6;
    (!known.is_empty()).then(|| format!("{sum:.4}"))
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
    #[test]
    fn tokens_are_shown_short() {
        let shown: Vec<String> = [0, 999, 1_250, 87_100, 1_048_576].into_iter().map(super::short).collect();
        assert_eq!(shown, ["0", "999", "1.2k", "87k", "1.0m"]);
    }
}
