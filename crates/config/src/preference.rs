//! Preferences of a user, which the log stores by name: `policy`, the keys of that policy, `model`,
//! and the settings that have the names of other agents.

use std::collections::BTreeMap;

use waterline_agent::{DEFAULT_POLICY, ModelPolicy};

use crate::config::Config;
use crate::error::ConfigError;
use crate::origin::{PREFERENCE, SESSION_PREFERENCE};
use crate::policy;
use crate::seed::{self, Seed};
use crate::settings::Settings;

/// The name of the policy.
const POLICY: &str = "policy";

/// The name of the model.
pub const MODEL: &str = "model";

impl Config {
    /// Applies the preferences of a user: above the config files, below variables and overrides.
    /// The empty name is that of the only user of a log.
    ///
    /// # Errors
    /// When the policy does not exist, or a key does not fit it.
    pub fn add_preferences(
        &mut self,
        user: &str,
        preferences: &BTreeMap<String, String>,
    ) -> Result<(), ConfigError> {
        if preferences.is_empty() {
            return Ok(());
        }
        check_policy(self, preferences)?;
        let whose = match user {
            "" => PREFERENCE.to_owned(),
            user => format!("{PREFERENCE} of {user}"),
        };
        if let Some(model) = preferences.get(MODEL) {
            self.prefer_model(model, &whose);
        }
        self.prefer_settings(preferences, &whose)?;
        if self.environment.variable("WATERLINE_POLICY").is_some() {
            return Ok(());
        }
        self.preferred = policy_of(preferences);
        for (name, value) in preferences.iter().filter(|(name, _)| is_about_policy(name)) {
            self.origins.add_preference(&whose, name, value);
        }
        Ok(())
    }

    /// Applies the model that a session prefers, above the preferences of its user. A session may
    /// come from elsewhere, so it can only choose among the models that the config describes.
    pub(crate) fn add_session_model(&mut self, model: &str) {
        if self.settings.models.contains_key(model) {
            self.prefer_model(model, SESSION_PREFERENCE);
        }
    }

    /// Applies the settings that have the names of other agents, except those that a variable sets.
    fn prefer_settings(
        &mut self,
        preferences: &BTreeMap<String, String>,
        whose: &str,
    ) -> Result<(), ConfigError> {
        let is_free = |name: &str| self.environment.variable(&name.to_uppercase()).is_none();
        let wanted: BTreeMap<&String, &String> = preferences
            .iter()
            .filter(|(name, _)| seed::is_setting(name) && is_free(name))
            .collect();
        let newer = parse(&wanted)?;
        self.settings = std::mem::take(&mut self.settings).merge(newer);
        for (name, value) in wanted {
            self.origins.add_preference(whose, &seed::key(name), value);
        }
        Ok(())
    }

    fn prefer_model(&mut self, model: &str, whose: &str) {
        if self.environment.variable("WATERLINE_MODEL").is_none() {
            self.preferred_model = Some(model.to_owned());
            self.origins.add_preference(whose, MODEL, model);
        }
    }
}

/// Checks that `name` is a preference, and that the preferences can be used together.
///
/// # Errors
/// When it is not the name of a preference, the policy does not exist, or a key does not fit it.
pub fn check_preferences(
    config: &Config,
    name: &str,
    preferences: &BTreeMap<String, String>,
) -> Result<(), ConfigError> {
    if name != MODEL && !is_about_policy(name) && !seed::is_setting(name) {
        return Err(ConfigError::Preference(name.to_owned()));
    }
    let mut config = config.clone();
    config.prefer_settings(preferences, PREFERENCE)?;
    if let Some(known) = Seed::named(name) {
        known.presets.iter().try_for_each(|preset| policy::load(preset, &[], &config).map(drop))?;
    }
    check_policy(&config, preferences)
}

/// Returns the name under which a preference is stored: the names of other agents' settings may be
/// written in any case.
#[must_use]
pub fn preference_name(name: &str) -> String {
    if seed::is_setting(name) { name.to_ascii_lowercase() } else { name.to_owned() }
}

/// Parses values as if they were in a config file.
fn parse(values: &BTreeMap<&String, &String>) -> Result<Settings, ConfigError> {
    let entry = |(name, text): (&&String, &&String)| {
        let parsed = toml::from_str::<toml::Table>(&format!("value = {text}")).ok();
        let value = parsed.and_then(|mut table| table.remove("value"));
        ((*name).clone(), value.unwrap_or_else(|| toml::Value::String((*text).clone())))
    };
    let table: toml::Table = values.iter().map(entry).collect();
    Settings::parse(&toml::to_string(&table)?)
}

fn check_policy(
    config: &Config,
    preferences: &BTreeMap<String, String>,
) -> Result<(), ConfigError> {
    let wanted = policy_of(preferences);
    let name = wanted.name.as_deref().unwrap_or(DEFAULT_POLICY);
    let config = config.clone().with_own_policy(Some(name));
    policy::load(name, &wanted.keys, &config).map(drop)
}

fn policy_of(preferences: &BTreeMap<String, String>) -> ModelPolicy {
    let keys = preferences.iter().filter(|(name, _)| is_policy_key(name));
    ModelPolicy {
        name: preferences.get(POLICY).cloned(),
        keys: keys.map(|(name, value)| (name.clone(), value.clone())).collect(),
    }
}

/// Whether a preference is the policy or one of its keys.
fn is_about_policy(name: &str) -> bool {
    name == POLICY || is_policy_key(name)
}

/// Whether a preference is a key of a policy. The log also keeps what calls showed about models,
/// under names such as `factor/MODEL@ADDRESS`.
fn is_policy_key(name: &str) -> bool {
    name.contains('.') && !name.contains('/')
}
