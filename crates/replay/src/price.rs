//! What a prompt costs: tokens read from the cache, written to it, or neither. Prices are multiples
//! of a fresh prompt token, so that lists can be compared.

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

/// One list of prices.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Its name.
    pub name: String,
    /// A token read from the cache.
    pub read: f64,
    /// A token written to the cache.
    pub write: f64,
    /// A token of an answer.
    pub output: f64,
    /// Prompts shorter than this are not cached.
    #[serde(default)]
    pub minimum: usize,
    /// Seconds that a cached prefix lives; 0 where nobody says.
    #[serde(default)]
    pub life: i64,
}

impl Prices {
    /// The lists that come with the program, the default first.
    #[must_use]
    pub fn shipped() -> &'static [Self] {
        &SHIPPED
    }

    /// The list of that name, or that of a model in the model table.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let shipped = Self::shipped().iter().find(|list| list.name == name).cloned();
        shipped.or_else(|| Models::builtin().find(name).map(|model| Self::of_model(name, &model)))
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

    /// What one prompt costs of which `same` tokens stood in the last one too, and how many of it
    /// the cache served.
    #[must_use]
    pub fn prompt(&self, same: usize, all: usize, is_cold: bool) -> Bill {
        let served = if is_cold || same < self.minimum { 0 } else { same };
        let fresh = if all < self.minimum { 1.0 } else { self.write };
        Bill {
            cost: tokens(served) * self.read + tokens(all - served) * fresh,
            read: served,
            written: all - served,
        }
    }

    /// Whether a cached prefix is gone after so many seconds.
    #[must_use]
    pub const fn is_cold(&self, seconds: i64) -> bool {
        self.life > 0 && seconds > self.life
    }
}

/// What one or more prompts cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bill {
    /// In fresh prompt tokens.
    pub cost: f64,
    /// Tokens that the cache served.
    pub read: usize,
    /// Tokens that it did not.
    pub written: usize,
}

impl Bill {
    /// Adds another one.
    pub fn add(&mut self, other: Self) {
        self.cost += other.cost;
        self.read += other.read;
        self.written += other.written;
    }

    /// The share of the tokens that the cache served.
    #[must_use]
    pub fn cached_share(&self) -> f64 {
        share(self.read, self.read + self.written)
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
pub(crate) const fn tokens(count: usize) -> f64 {
    count as f64
}

/// A part of a whole; of nothing, nothing.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { tokens(part) / tokens(whole) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_lists_read() {
        let table: Table = toml::from_str(LISTS).unwrap();
        assert!(table.prices.iter().all(|list| list.read <= list.write && list.output >= 1.0));
        assert_eq!(table.prices[0].name, "cached");
    }

    #[test]
    fn a_prefix_is_read_and_the_rest_written() {
        let prices = Prices::named("cached").unwrap();
        let bill = prices.prompt(1_000, 1_200, false);
        assert!((bill.cost - (100.0 + 250.0)).abs() < 1e-9);
        assert_eq!((bill.read, bill.written), (1_000, 200));
        assert!((prices.prompt(1_000, 1_200, true).cost - 1_500.0).abs() < 1e-9);
    }

    #[test]
    fn short_prompts_are_not_cached() {
        let prices = Prices { minimum: 1_024, ..Prices::named("cached").unwrap() };
        assert!((prices.prompt(500, 800, false).cost - 800.0).abs() < 1e-9);
    }

    #[test]
    fn a_model_is_a_list_of_prices_too() {
        assert!((Prices::named("claude-fable-5-1").unwrap().read - 0.025).abs() < 1e-9);
        assert_eq!(Prices::named("nobody"), None);
    }
}
