//! Numbers for people.

/// Formats a number with thousands separators.
pub fn number(n: usize) -> String {
    let digits = n.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Formats a number of tokens with about three digits: `1.2k`, `87k`.
pub fn short(tokens: usize) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..10_000 => format!("{}.{}k", tokens / 1_000, tokens % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{}.{}m", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}

/// Formats a number of bytes with about three digits.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::{number, short};

    #[test]
    fn thousands_are_separated() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(1_234_567), "1,234,567");
    }

    #[test]
    fn tokens_are_shown_short() {
        let shown: Vec<String> =
            [0, 999, 1_250, 87_100, 1_048_576].into_iter().map(short).collect();
        assert_eq!(shown, ["0", "999", "1.2k", "87k", "1.0m"]);
    }
}
