//! Argument values that several commands share: sizes, policies and their keys, approval modes,
//! models.

use std::sync::Arc;

use waterline::model::{Model, Models};
use waterline::phrase;
use waterline::policy::Policy;
use waterline::warning::{Warning, WarningKind};
use waterline_agent::approval::Mode;
use waterline_config::{Config, ConfigError};

use crate::db::Database;
use crate::environment::environment;
use crate::number::number;
use crate::text;

/// Parses `8000`, `8k`, `1.5m`.
pub fn size(text: &str) -> Result<usize, String> {
    let refused = || text!("argument-size", value = text);
    let lower = text.trim().to_ascii_lowercase().replace([',', '_'], "");
    let (digits, factor) = match lower.strip_suffix(['k', 'm']) {
        Some(digits) if lower.ends_with('k') => (digits, 1_000.0),
        Some(digits) => (digits, 1_000_000.0),
        None => (lower.as_str(), 1.0),
    };
    let number: f64 = digits.parse().map_err(|_| refused())?;
    let tokens = (number * factor).round();
    if tokens < 1.0 {
        return Err(text!("argument-size-too-small", value = text));
    }
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

/// Parses `key=value`.
pub fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| text!("argument-setting", value = text))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Returns the config with the preferences of a user. A log that does not exist has none and is not
/// created.
pub fn of_user(user: Option<&str>, database: &Database) -> anyhow::Result<Config> {
    let mut config = Config::load(Arc::clone(environment()))?;
    let log = match user {
        Some(_) => database.find()?,
        // Without a user, a log that cannot be read does not matter.
        None => database.find().ok().flatten(),
    };
    if let Some(log) = log {
        let user = user.unwrap_or_default();
        config.add_preferences(user, &log.preferences(user)?)?;
    }
    Ok(config)
}

/// Loads a preset or a policy file and sets some of its keys.
pub fn policy(name: &str, settings: &[(String, String)]) -> Result<Policy, ConfigError> {
    let config = Config::load(Arc::clone(environment()))?.with_own_policy(Some(name));
    waterline_config::policy::load(name, settings, &config)
}

/// The approval modes, the default first.
pub const MODES: [Mode; 4] = [Mode::Selective, Mode::All, Mode::Custom, Mode::None];

/// Returns the name of an approval mode, as flags and the config write it.
pub const fn approval(mode: Mode) -> &'static str {
    match mode {
        Mode::All => "all",
        Mode::Selective => "selective",
        Mode::Custom => "custom",
        Mode::None => "none",
    }
}

/// Returns the model catalog with the models that the user's config describes.
pub fn models() -> Result<Models, ConfigError> {
    Ok(Config::load(Arc::clone(environment()))?.catalog())
}

/// Returns the catalog's entry for a model, or a default with a warning if it has none.
pub fn model(models: &Models, name: Option<&str>) -> (Arc<Model>, Option<Warning>) {
    if let Some(known) = name.and_then(|name| models.find(name)) {
        return (known, None);
    }
    let model = models.unknown();
    let window = number(model.input_window());
    let text = match name {
        Some(name) => phrase!(
            "model-unknown",
            "unknown model {name:?}: using conservative estimates, and a window of {window} tokens \
             unless one is given",
            name = name,
            window = window
        ),
        None => phrase!(
            "model-not-named",
            "no model given: using conservative estimates, and a window of {window} tokens unless \
             one is given",
            window = window
        ),
    };
    (model, Some(Warning::new(WarningKind::UnknownModel, text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_approval_mode_can_be_parsed() {
        for mode in MODES {
            assert_eq!(approval(mode).parse::<Mode>(), Ok(mode));
        }
    }

    #[test]
    fn sizes_are_parsed_and_invalid_ones_refused() {
        assert_eq!(size("8000"), Ok(8_000));
        assert_eq!(size("8k"), Ok(8_000));
        assert_eq!(size("1.5M"), Ok(1_500_000));
        assert_eq!(size("200_000"), Ok(200_000));
        for text in ["", "k", "-1", "0", "many", "1e99", "NaN"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
