//! The cost of a prompt, whose tokens are read from the cache, written to it, or neither. Prices
//! are multiples of an uncached prompt token, so that price lists can be compared.

use std::sync::LazyLock;

use serde::Deserialize;
use waterline::model::{Model, Models};

const LISTS: &str = include_str!("../presets/prices.toml");

static SHIPPED: LazyLock<Vec<Prices>> = LazyLock::new(|| {
    let table: Table = toml::from_str(LISTS).unwrap_or_default();
    table.prices
});

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    prices: Vec<Prices>,
}

/// A price list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The name of the list.
    pub name: String,
    /// The price of a token read from the cache.
    pub read: f64,
    /// The price of a token written to the cache.
    pub write: f64,
    /// The price of an output token.
    pub output: f64,
    /// Prompts shorter than this are not cached.
    #[serde(default)]
    pub minimum: usize,
    /// Seconds until a cached prefix expires; 0 if unknown.
    #[serde(default)]
    pub life: i64,
}

impl Prices {
    /// Returns the built-in price lists, the default first.
    #[must_use]
    pub fn shipped() -> &'static [Self] {
        &SHIPPED
    }

    /// Returns the price list with a name, or the one of a model in a catalog.
    #[must_use]
    pub fn named(name: &str, models: &Models) -> Option<Self> {
        let shipped = Self::shipped().iter().find(|list| list.name == name).cloned();
        shipped.or_else(|| models.find(name).map(|model| Self::of_model(name, &model)))
    }

    fn of_model(name: &str, model: &Model) -> Self {
        Self {
            name: name.to_owned(),
            read: model.cache_read,
            write: model.cache_write,
            output: Self::shipped().first().map_or(5.0, |list| list.output),
            minimum: model.cache_minimum,
            life: i64::try_from(model.cache_life).unwrap_or(i64::MAX),
        }
    }

    /// Returns the cost of a prompt of `all` tokens that shares its first `same` tokens with the
    /// previous one.
    #[must_use]
    pub fn prompt(&self, same: usize, all: usize, is_cold: bool) -> Bill {
        let read = if is_cold || same < self.minimum { 0 } else { same };
        let write_price = if all < self.minimum { 1.0 } else { self.write };
        Bill {
            cost: tokens(read) * self.read + tokens(all - read) * write_price,
            read,
            written: all - read,
        }
    }

    /// Returns whether a cached prefix has expired after this many seconds.
    #[must_use]
    pub const fn is_cold(&self, seconds: i64) -> bool {
        self.life > 0 && seconds > self.life
    }
}

/// The cost of one or more prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bill {
    /// The cost in multiples of an uncached prompt token.
    pub cost: f64,
    /// Tokens read from the cache.
    pub read: usize,
    /// Tokens that were not in the cache.
    pub written: usize,
}

impl Bill {
    /// Adds another bill to this one.
    pub fn add(&mut self, other: Self) {
        self.cost += other.cost;
        self.read += other.read;
        self.written += other.written;
    }

    /// Returns the share of the tokens that were read from the cache.
    #[must_use]
    pub fn cached_share(&self) -> f64 {
        share(self.read, self.read + self.written)
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
pub(crate) const fn tokens(count: usize) -> f64 {
    count as f64
}

/// Returns the share of a part in a whole; 0 if the whole is 0.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { tokens(part) / tokens(whole) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_lists_are_valid() {
        let table: Table = toml::from_str(LISTS).unwrap();
        assert!(table.prices.iter().all(|list| list.read <= list.write && list.output >= 1.0));
        assert_eq!(table.prices[0].name, "cached");
    }

    #[test]
    fn prefix_is_read_and_the_rest_written() {
        let prices = Prices::named("cached", &Models::builtin()).unwrap();
        let bill = prices.prompt(1_000, 1_200, false);
        assert!((bill.cost - (100.0 + 250.0)).abs() < 1e-9);
        assert_eq!((bill.read, bill.written), (1_000, 200));
        assert!((prices.prompt(1_000, 1_200, true).cost - 1_500.0).abs() < 1e-9);
    }

    #[test]
    fn short_prompts_are_not_cached() {
        let prices =
            Prices { minimum: 1_024, ..Prices::named("cached", &Models::builtin()).unwrap() };
        assert!((prices.prompt(500, 800, false).cost - 800.0).abs() < 1e-9);
    }

    #[test]
    fn models_have_price_lists() {
        assert!(
            (Prices::named("claude-fable-5-1", &Models::builtin()).unwrap().read - 0.025).abs()
                < 1e-9
        );
        assert_eq!(Prices::named("unknown", &Models::builtin()), None);
    }
}
