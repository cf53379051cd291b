//! Preferences of a user, which the log stores by name: `policy`, the keys of that policy, and
//! `model`.

use std::collections::BTreeMap;

use waterline_agent::{DEFAULT_POLICY, ModelPolicy};

use crate::config::Config;
use crate::error::ConfigError;
use crate::policy;

/// The name of the policy.
const POLICY: &str = "policy";

/// The name of the model.
pub const MODEL: &str = "model";

impl Config {
    /// Applies the preferences of a user: above the config files, below variables and overrides.
    /// The empty name stands for the only user of a log.
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
        let whose = if user.is_empty() { "preference" } else { &format!("preference of {user}") };
        if let Some(model) = preferences.get(MODEL) {
            self.prefer_model(model, whose);
        }
        if self.environment.variable("WATERLINE_POLICY").is_some() {
            return Ok(());
        }
        self.preferred = policy_of(preferences);
        for (name, value) in preferences.iter().filter(|(name, _)| is_about_policy(name)) {
            self.origins.add_preference(whose, name, value);
        }
        Ok(())
    }

    /// Applies the model that a session prefers, above the preferences of its user. A session may
    /// come from elsewhere, so it can only choose among the models that the config describes.
    pub fn add_session_model(&mut self, model: &str) {
        if self.settings.models.contains_key(model) {
            self.prefer_model(model, "preference of the session");
        }
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
    if name != MODEL && !is_about_policy(name) {
        return Err(ConfigError::Preference(name.to_owned()));
    }
    check_policy(config, preferences)
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
