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
const MODEL: &str = "model";

impl Config {
    /// Applies the preferences of a user: above the config files, below variables and overrides.
    ///
    /// # Errors
    /// When the policy does not exist, or a key does not fit it.
    pub fn add_preferences(
        &mut self,
        user: &str,
        preferences: &BTreeMap<String, String>,
    ) -> Result<(), ConfigError> {
        check_policy(self, preferences)?;
        let is_set = |name| self.environment.variable(name).is_some();
        if let Some(model) = preferences.get(MODEL).filter(|_| !is_set("WATERLINE_MODEL")) {
            self.settings.model = Some(model.clone());
            self.origins.add_preference(user, MODEL, model);
        }
        if is_set("WATERLINE_POLICY") {
            return Ok(());
        }
        self.preferred = policy_of(preferences);
        for (name, value) in preferences.iter().filter(|(name, _)| is_about_policy(name)) {
            self.origins.add_preference(user, name, value);
        }
        Ok(())
    }
}

/// Checks that preferences can be used together.
///
/// # Errors
/// When a name is not that of a preference, the policy does not exist, or a key does not fit it.
pub fn check_preferences(
    config: &Config,
    preferences: &BTreeMap<String, String>,
) -> Result<(), ConfigError> {
    if let Some(unknown) = preferences.keys().find(|name| *name != MODEL && !is_about_policy(name))
    {
        return Err(ConfigError::Preference(unknown.clone()));
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
    let keys = preferences.iter().filter(|(name, _)| name.contains('.'));
    ModelPolicy {
        name: preferences.get(POLICY).cloned(),
        keys: keys.map(|(name, value)| (name.clone(), value.clone())).collect(),
    }
}

/// Whether a preference is the policy or one of its keys.
fn is_about_policy(name: &str) -> bool {
    name == POLICY || name.contains('.')
}
