//! A number of tokens: absolute, a share, or growing with the square root of the window.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};

/// A number of tokens, absolute or depending on the available tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// This many tokens.
    Tokens(usize),
    /// A share of the available tokens, in hundredths of a percent.
    Share(u32),
    /// `tokens` when `at` tokens are available, and above that proportional to the square root of
    /// what is available: a larger window needs longer lists, but not in proportion. Below `at` it
    /// is a constant share.
    Root {
        /// The size at the reference.
        tokens: u32,
        /// The reference: available tokens.
        at: u32,
    },
}

/// The share that is all of the available tokens.
pub(crate) const WHOLE: u32 = 10_000;

/// More tokens than any window will ever have, and few enough that sums do not overflow.
const MAX_TOKENS: usize = 1_000_000_000;

impl Size {
    /// Creates a share in percent.
    #[must_use]
    pub const fn percent(percent: u32) -> Self {
        Self::Share(percent * 100)
    }

    /// Returns whether it is zero, however many tokens are available.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        matches!(self, Self::Tokens(0) | Self::Share(0))
    }

    /// Returns the size in tokens, with a share taken of `available` and rounded down.
    #[must_use]
    pub const fn of(self, available: usize) -> usize {
        match self {
            Self::Tokens(tokens) => tokens,
            Self::Share(share) => (available as u128 * share as u128 / WHOLE as u128) as usize,
            Self::Root { tokens, at } => root(tokens, at, available),
        }
    }

    /// Returns the size in tokens, with a share taken of `available` and rounded up.
    #[must_use]
    pub const fn of_rounded_up(self, available: usize) -> usize {
        match self {
            Self::Tokens(tokens) => tokens,
            Self::Share(share) => {
                (available as u128 * share as u128).div_ceil(WHOLE as u128) as usize
            }
            Self::Root { tokens, at } => root(tokens, at, available),
        }
    }

    /// Parses `50000`, `"65%"` or `"2000 at 8000"`.
    #[must_use]
    pub fn parse(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Integer(tokens) => {
                usize::try_from(*tokens).ok().filter(|&n| n <= MAX_TOKENS).map(Self::Tokens)
            }
            toml::Value::String(text) if text.contains(" at ") => {
                let (tokens, at) = text.split_once(" at ")?;
                let number = |text: &str| text.trim().parse().ok().filter(|&n: &u32| n > 0);
                Some(Self::Root { tokens: number(tokens)?, at: number(at)? })
            }
            toml::Value::String(text) => {
                let percent: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
                if !(0.0..=100.0).contains(&percent) {
                    return None;
                }
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "between 0 and 10,000"
                )]
                let share = (percent * 100.0).round() as u32;
                Some(Self::Share(share))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens(tokens) => write!(f, "{tokens} tokens"),
            Self::Share(share) => write!(f, "{}%", f64::from(*share) / 100.0),
            Self::Root { tokens, at } => write!(f, "{tokens} tokens at {at}"),
        }
    }
}

/// Grows with the square root above `at`. Below, it is the same share everywhere: a share that grew
/// as the window shrinks would leave no space for anything else.
const fn root(tokens: u32, at: u32, available: usize) -> usize {
    // At most 2^32 squared times 10^9, which is less than 2^128.
    let (tokens, at, available) = (tokens as u128, at as u128, available as u128);
    if available < at {
        return (tokens * available / at) as usize;
    }
    (tokens * tokens * available / at).isqrt() as usize
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = toml::Value::deserialize(deserializer)?;
        Self::parse(&value).ok_or_else(|| {
            D::Error::custom(
                "expected a number of tokens, a share such as \"65%\", or \"2000 at 8000\"",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E.7: 26% and 65% of 74,644, rounded down (C3.6: 48,518, not 48,519).
    #[test]
    fn e07_shares_are_rounded_down() {
        assert_eq!(Size::percent(26).of(74_644), 19_407);
        assert_eq!(Size::percent(65).of(74_644), 48_518);
        assert_eq!(Size::percent(60).of(128_000), 76_800);
    }

    #[test]
    fn a_size_can_grow_with_the_square_root() {
        let size = Size::parse(&toml::Value::String("2000 at 8000".into())).unwrap();
        assert_eq!([2_000, 8_000, 32_000].map(|n| size.of(n)), [500, 2_000, 4_000]);
        let most = Size::Root { tokens: u32::MAX, at: 1 };
        assert_eq!(most.of(MAX_TOKENS), 135_818_791_281_323);
        assert_eq!(Size::parse(&toml::Value::String("0 at 8000".into())), None);
        assert_eq!(size.to_string(), "2000 tokens at 8000");
    }

    #[test]
    fn numbers_and_shares_are_parsed_and_anything_else_is_not() {
        let parse = |text: &str| Size::parse(&toml::Value::String(text.into()));
        assert_eq!(parse("12.5%"), Some(Size::Share(1_250)));
        assert_eq!(parse("101%"), None);
        assert_eq!(parse("-1%"), None);
        assert_eq!(parse("many"), None);
        assert_eq!(Size::parse(&toml::Value::Integer(-3)), None);
    }
}
