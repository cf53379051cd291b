//! Values of arguments that several commands share: sizes, policies and their keys, modes of
//! approval, models.

use std::sync::Arc;

use waterline::model::{Model, Models};
use waterline::policy::Policy;
use waterline::warning::{Oddity, Warning};
use waterline_agent::approval::Mode;
use waterline_config::{Config, ConfigError};

use crate::environment::environment;

/// Reads `8000`, `8k`, `1.5m`.
pub fn size(text: &str) -> Result<usize, String> {
    let refused = || format!("{text:?} is no number of tokens; write it as 8000, 8k or 1m");
    let lower = text.trim().to_ascii_lowercase().replace([',', '_'], "");
    let (digits, factor) = match lower.strip_suffix(['k', 'm']) {
        Some(digits) if lower.ends_with('k') => (digits, 1_000.0),
        Some(digits) => (digits, 1_000_000.0),
        None => (lower.as_str(), 1.0),
    };
    let number: f64 = digits.parse().map_err(|_| refused())?;
    let tokens = (number * factor).round();
    if !(1.0..=1e9).contains(&tokens) {
        return Err(refused());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and 1e9"
    )]
    Ok(tokens as usize)
}

/// Reads `key=value`.
pub fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| format!("{text:?} is not of the form key=value"))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// The policy of that name or in that file, with some keys set differently.
pub fn policy(name: &str, settings: &[(String, String)]) -> Result<Policy, ConfigError> {
    let config = Config::load(Arc::clone(environment()))?;
    waterline_config::policy::load(name, settings, &config.settings.seeds)
}

/// When somebody can be asked before a call, the usual first.
pub const MODES: [Mode; 4] = [Mode::Selective, Mode::All, Mode::Custom, Mode::None];

/// The word for a mode of approval, as flags and the config write it.
pub const fn approval(mode: Mode) -> &'static str {
    match mode {
        Mode::All => "all",
        Mode::Selective => "selective",
        Mode::Custom => "custom",
        Mode::None => "none",
    }
}

/// The table's entry for a model; a warning where there is none.
pub fn model(name: Option<&str>) -> (Arc<Model>, Option<Warning>) {
    if let Some(known) = name.and_then(|name| Models::builtin().find(name)) {
        return (known, None);
    }
    let model = Models::builtin().unknown();
    let who = name.map_or_else(
        || "no model is named".to_owned(),
        |name| format!("the model {name:?} is unknown"),
    );
    let text = format!(
        "{who}: careful estimates are used, and a window of {} tokens unless one is given",
        model.input_window()
    );
    (model, Some(Warning::new(Oddity::UnknownModel, text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_for_a_mode_is_the_one_that_is_read() {
        for mode in MODES {
            assert_eq!(approval(mode).parse::<Mode>(), Ok(mode));
        }
    }

    #[test]
    fn sizes_are_read_and_nonsense_is_refused() {
        assert_eq!(size("8000"), Ok(8_000));
        assert_eq!(size("8k"), Ok(8_000));
        assert_eq!(size("1.5M"), Ok(1_500_000));
        assert_eq!(size("200_000"), Ok(200_000));
        for text in ["", "k", "-1", "0", "many", "1e99", "NaN"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
