//! [`Price`]: the price of a model's tokens, and the cost of a call.

use waterline::Model;
use waterline_provider::answer::Usage;

/// The price of an answer token in multiples of a prompt token, if only the latter is known.
const OUTPUT_FACTOR: f64 = 5.0;

/// The prices of a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Prompt tokens that are neither read from the cache nor written to it.
    pub input: f64,
    /// Prompt tokens read from the cache.
    pub cached: f64,
    /// Prompt tokens written to the cache.
    pub written: f64,
    /// Answer tokens.
    pub output: f64,
}

impl Rates {
    /// Returns the rates that follow from the price of prompt tokens and from how the model's cache
    /// is priced. Answers are assumed to cost five times as much.
    #[must_use]
    pub fn from_input(input: f64, about: &Model) -> Self {
        Self {
            input,
            cached: input * about.cache_read,
            written: input * about.cache_write,
            output: input * OUTPUT_FACTOR,
        }
    }
}

/// The price of a model, in any currency.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// The rates that apply unless a prompt is long.
    pub rates: Rates,
    /// The rates of a call whose prompt has more than this many tokens.
    pub long: Option<(usize, Rates)>,
    /// The day on which the price was checked, as `YYYY-MM-DD`; `None` if it is always current.
    pub date: Option<String>,
}

impl Price {
    /// Creates a price that does not depend on the length of the prompt.
    #[must_use]
    pub const fn flat(rates: Rates) -> Self {
        Self { rates, long: None, date: None }
    }

    /// Returns the price of a call, in millionths of the currency unit.
    #[must_use]
    pub fn millionths(&self, usage: &Usage) -> i64 {
        let long = self.long.as_ref().filter(|(above, _)| usage.prompt() > *above);
        let rates = long.map_or(&self.rates, |(_, rates)| rates);
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let tokens = |count: usize| count as f64;
        let sum = tokens(usage.input) * rates.input
            + tokens(usage.cache_read) * rates.cached
            + tokens(usage.cache_write) * rates.written
            + tokens(usage.output) * rates.output;
        #[expect(clippy::cast_possible_truncation, reason = "far below 2^63")]
        let millionths = sum.round() as i64;
        millionths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_rate() {
        let rates = Rates { input: 2.0, cached: 0.2, written: 2.5, output: 10.0 };
        let long = Rates { input: 4.0, cached: 0.4, written: 5.0, output: 15.0 };
        let price = Price { long: Some((200_000, long)), ..Price::flat(rates) };
        let usage = |input| Usage { input, cache_read: 1_000, cache_write: 100, output: 10 };
        assert_eq!(price.millionths(&usage(500)), 1_000 + 200 + 250 + 100);
        assert_eq!(price.millionths(&usage(200_000)), 800_000 + 400 + 500 + 150);
    }
}
