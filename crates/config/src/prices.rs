//! Prices of models. The built-in table has the prices of known models at their own vendors, each
//! with the day on which it was checked; a file in the user's config directory takes precedence.
//! The price of a model that is in neither is unknown.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use waterline::Model;
use waterline_provider::ReportedPrice;
use waterline_provider::address::host;
use waterline_session::{Price, Rates};

use crate::environment::Environment;
use crate::error::{ConfigError, at_least};

/// The name of the user's price table, in the user's config directory.
const USER_FILE: &str = "prices.toml";

static BUILT_IN: LazyLock<Arc<Table>> = LazyLock::new(|| {
    // The table is compiled in and a test parses it.
    Arc::new(toml::from_str(include_str!("../presets/prices.toml")).unwrap_or_default())
});

/// The price tables, the one that takes precedence first.
#[derive(Clone, Debug)]
pub(crate) struct Prices(Vec<Arc<Table>>);

impl Prices {
    /// Returns the built-in table.
    pub(crate) fn built_in() -> Self {
        Self(vec![Arc::clone(&BUILT_IN)])
    }

    /// Returns the built-in table and the user's.
    ///
    /// # Errors
    /// When the user's table cannot be read.
    pub(crate) fn load(environment: &Environment) -> Result<Self, ConfigError> {
        let mut prices = Self::built_in();
        let Some(path) = environment.user_directory().map(|directory| directory.join(USER_FILE))
        else {
            return Ok(prices);
        };
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(prices),
            text => text?,
        };
        let own = toml::from_str(&text).map_err(ConfigError::from).and_then(Table::check);
        prices.0.insert(0, Arc::new(own.map_err(|error| error.in_file(&path))?));
        Ok(prices)
    }

    /// Returns the price of a model at an address, if a table has it.
    pub(crate) fn find(&self, model: &str, address: &str) -> Option<Price> {
        let host = host(address);
        self.0.iter().find_map(|table| table.find(model, host.as_deref()))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    vendor: Vec<Vendor>,
}

/// A vendor with its prices.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vendor {
    /// The name, for the reader of the file.
    #[serde(rename = "name")]
    _name: String,
    /// The hosts at which the prices apply; all of them if there are none.
    #[serde(default)]
    hosts: Vec<String>,
    /// The page with the prices, for the reader of the file.
    #[serde(default, rename = "source")]
    _source: Option<String>,
    prices: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    models: Vec<String>,
    input: f64,
    cached: Option<f64>,
    written: Option<f64>,
    output: f64,
    date: String,
    long: Option<LongRow>,
}

/// The prices of a call with a long prompt.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LongRow {
    above: usize,
    input: f64,
    cached: Option<f64>,
    written: Option<f64>,
    output: f64,
}

impl Table {
    /// Rejects prices that no model can have.
    fn check(self) -> Result<Self, ConfigError> {
        for row in self.vendor.iter().flat_map(|vendor| &vendor.prices) {
            let numbers = [
                ("input", Some(row.input)),
                ("cached", row.cached),
                ("written", row.written),
                ("output", Some(row.output)),
            ];
            check_prices(&row.models.join(", "), &numbers)?;
        }
        Ok(self)
    }

    fn find(&self, model: &str, host: Option<&str>) -> Option<Price> {
        let at_host = |vendor: &&Vendor| {
            vendor.hosts.is_empty() || vendor.hosts.iter().any(|own| Some(own.as_str()) == host)
        };
        let rows = self.vendor.iter().filter(at_host).flat_map(|vendor| &vendor.prices);
        rows.filter(|row| row.models.iter().any(|name| is_version_of(model, name)))
            .max_by_key(|row| {
                let names = row.models.iter().filter(|name| is_version_of(model, name));
                names.map(String::len).max()
            })
            .map(Row::price)
    }
}

impl Row {
    fn price(&self) -> Price {
        let long = self
            .long
            .as_ref()
            .map(|long| (long.above, rates(long.input, long.cached, long.written, long.output)));
        let rates = rates(self.input, self.cached, self.written, self.output);
        Price { rates, long, date: Some(self.date.clone()) }
    }
}

fn rates(input: f64, cached: Option<f64>, written: Option<f64>, output: f64) -> Rates {
    Rates { input, cached: cached.unwrap_or(input), written: written.unwrap_or(input), output }
}

/// Whether a model is the named one, perhaps with a date or `latest` after its name. Any other
/// ending is another model.
fn is_version_of(model: &str, name: &str) -> bool {
    let model = model.to_ascii_lowercase();
    let Some(rest) = model.strip_prefix(&name.to_ascii_lowercase()) else { return false };
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    let is_date = rest.starts_with('-')
        && digits == 8
        && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    rest.is_empty() || rest == "-latest" || is_date
}

/// Rejects prices below zero.
pub(crate) fn check_prices(key: &str, prices: &[(&str, Option<f64>)]) -> Result<(), ConfigError> {
    let is_invalid = |price: &f64| !price.is_finite() || *price < 0.0;
    for (field, price) in prices {
        if let Some(invalid) = price.filter(is_invalid) {
            return Err(ConfigError::range(format!("{key}.{field}"), invalid, at_least(0)));
        }
    }
    Ok(())
}

/// The price of a model in the config.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a price, or a table with `input` and other prices")]
pub enum PriceSetting {
    /// The price of a million prompt tokens. Answers cost five times as much, and the model's cache
    /// properties give the rest.
    Input(f64),
    /// All prices of a million tokens.
    Rates(RateSettings),
}

/// All prices of a model.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RateSettings {
    /// Prompt tokens.
    pub input: f64,
    /// Prompt tokens read from the cache; by default as `input`.
    pub cached: Option<f64>,
    /// Prompt tokens written to the cache; by default as `input`.
    pub written: Option<f64>,
    /// Answer tokens.
    pub output: f64,
}

impl PriceSetting {
    /// Returns the price of a model.
    pub(crate) fn price(&self, about: &Model) -> Price {
        Price::flat(match self {
            Self::Input(input) => Rates::from_input(*input, about),
            Self::Rates(own) => rates(own.input, own.cached, own.written, own.output),
        })
    }

    /// Rejects prices below zero.
    pub(crate) fn check(&self, key: &str) -> Result<(), ConfigError> {
        let is_invalid = |price: &f64| !price.is_finite() || *price < 0.0;
        match self {
            Self::Input(price) if is_invalid(price) => {
                Err(ConfigError::range(key.to_owned(), *price, at_least(0)))
            }
            Self::Input(_) => Ok(()),
            Self::Rates(own) => check_prices(
                key,
                &[
                    ("input", Some(own.input)),
                    ("cached", own.cached),
                    ("written", own.written),
                    ("output", Some(own.output)),
                ],
            ),
        }
    }
}

/// Returns the price that a server reports.
pub(crate) fn of_server(price: &ReportedPrice) -> Price {
    Price::flat(rates(price.input, price.cached, price.written, price.output))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENAI: &str = "https://api.openai.com/v1";

    fn input(prices: &Prices, model: &str, address: &str) -> Option<f64> {
        prices.find(model, address).map(|price| price.rates.input)
    }

    #[test]
    fn the_built_in_table_is_valid() {
        let table: Table = toml::from_str(include_str!("../presets/prices.toml")).unwrap();
        let table = table.check().unwrap();
        for row in table.vendor.iter().flat_map(|vendor| &vendor.prices) {
            assert!(row.cached.is_none_or(|cached| cached <= row.input), "{:?}", row.models);
            assert!(row.output >= row.input, "{:?}", row.models);
            let is_date = row.date.len() == 10 && row.date.starts_with("20");
            assert!(is_date, "{:?}: {}", row.models, row.date);
        }
    }

    #[test]
    fn a_price_applies_to_the_versions_of_a_model_at_its_vendor() {
        let prices = Prices::built_in();
        assert_eq!(input(&prices, "gpt-5", OPENAI), Some(1.25));
        assert_eq!(input(&prices, "gpt-5-2025-08-07", OPENAI), Some(1.25));
        assert_eq!(input(&prices, "gpt-5-mini", OPENAI), Some(0.25));
        assert_eq!(input(&prices, "gpt-5-something", OPENAI), None, "unknown stays unknown");
        assert_eq!(input(&prices, "gpt-5", "http://127.0.0.1:8080"), None, "another server");
        let anthropic = "https://api.anthropic.com";
        assert_eq!(input(&prices, "claude-sonnet-4-20250514", anthropic), Some(3.0));
        assert_eq!(input(&prices, "claude-sonnet-5", anthropic), Some(2.0));
        assert_eq!(input(&prices, "claude-sonnet-5-9", anthropic), None);
    }

    #[test]
    fn the_users_table_takes_precedence() {
        let text = "[[vendor]]\nname = \"mine\"\nprices = [{ models = [\"gpt-5\", \"tide\"], \
                    input = 2, output = 3, date = \"2026-11-16\" }]";
        let own: Table = toml::from_str(text).unwrap();
        let prices = Prices(vec![Arc::new(own), Arc::clone(&BUILT_IN)]);
        assert_eq!(input(&prices, "gpt-5", OPENAI), Some(2.0));
        assert_eq!(input(&prices, "tide", "http://127.0.0.1:8080"), Some(2.0), "at any address");
        assert_eq!(input(&prices, "gpt-4o", OPENAI), Some(2.5));
        let wrong: Table = toml::from_str(&text.replace("= 2,", "= -2.5,")).unwrap();
        let error = wrong.check().unwrap_err().to_string();
        assert!(error.contains("gpt-5, tide.input is -2.5"), "{error}");
    }
}
