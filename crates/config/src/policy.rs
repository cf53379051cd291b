//! Loads policies by name or from a file.

use std::path::Path;
use std::sync::Arc;

use waterline::policy::{Policy, PolicyError, Preset};
use waterline_agent::{Cause, Choice, DEFAULT_POLICY, ModelPolicy, Policies};
use waterline_log::Session;
use waterline_sandbox::small_file;

use crate::config::Config;
use crate::error::ConfigError;
use crate::origin::{PREFERENCE, Value};
use crate::overrides::Overrides;
use crate::seed;
use crate::settings::ModelSettings;

/// The mark above which a fold happens.
const HIGH_MARK: &str = "fold.high";

/// The mark that a fold reaches. It must be below [`HIGH_MARK`].
const LOW_MARK: &str = "fold.low";

/// Loads the policy that an agent uses for a session and a model, with the values that hold there:
/// those of the caller, of the user's preferences, of the config files and of the variables. Roles
/// and middlewares are not considered.
///
/// # Errors
/// The same as [`load`].
pub fn effective(
    config: &Config,
    overrides: &Overrides,
    session: &Session,
    model: &str,
) -> Result<Policy, ConfigError> {
    match policies(config, overrides).choose(session, model) {
        Choice::Named { name, keys } => {
            let known = with_own_policies(config, overrides);
            load(name.as_deref().unwrap_or(DEFAULT_POLICY), &keys, &known)
        }
        Choice::Made(policy) => Ok(*policy),
        _ => load(DEFAULT_POLICY, &[], config),
    }
}

/// Collects the policies chosen by the caller, by the settings and for single models.
pub(crate) fn policies(config: &Config, overrides: &Overrides) -> Policies {
    let own = |(name, model): (&String, &ModelSettings)| {
        let keys = model.set.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        (name.clone(), ModelPolicy { name: model.policy.clone(), keys })
    };
    let known = with_own_policies(config, overrides);
    Policies {
        caller: overrides.policy.clone(),
        keys: overrides.sets.clone(),
        user: config.preferred.clone(),
        config: config.settings.policy.clone(),
        models: config.settings.models.iter().map(own).collect(),
        load: Arc::new(move |name, keys| load(name, keys, &known).map_err(Cause::from)),
        ..Policies::default()
    }
}

/// Returns the config with the policies that the caller and the user chose.
fn with_own_policies(config: &Config, overrides: &Overrides) -> Config {
    let own = [overrides.policy.as_deref(), config.preferred.name.as_deref()];
    own.into_iter().fold(config.clone(), Config::with_own_policy)
}

/// Loads a preset by its name, or a policy from a file, and applies `settings` to it. Seed values
/// set keys of their presets; `settings` win over them.
///
/// A file that only the project names must be in the project. An error quotes the content of a file
/// only if the user chose it: the project, or the session, may name any file of the user.
///
/// # Errors
/// When the policy does not exist, or a key or a value does not fit it. If a setting names a policy
/// that does not exist, the error names the setting.
pub fn load(
    name: &str,
    settings: &[(String, String)],
    config: &Config,
) -> Result<Policy, ConfigError> {
    find(name, settings, config).map_err(|error| {
        let is_missing = matches!(
            error,
            ConfigError::PolicyFile { .. } | ConfigError::Policy(PolicyError::UnknownPreset { .. })
        );
        match setting_of(name, config).filter(|_| is_missing) {
            Some(Value { key, origin, .. }) => {
                ConfigError::PolicySetting { key, origin, source: Box::new(error) }
            }
            None => error,
        }
    })
}

/// Returns the setting of a file or a variable that names a policy.
fn setting_of(name: &str, config: &Config) -> Option<Value> {
    let names_policy = |key: &str| key == "policy" || key.ends_with(".policy");
    config.values().into_iter().find(|value| {
        let is_preference = value.origin.starts_with(PREFERENCE);
        names_policy(&value.key) && value.value.trim_matches('"') == name && !is_preference
    })
}

/// Loads a policy as [`load`] does, with errors that do not name a setting.
fn find(name: &str, settings: &[(String, String)], config: &Config) -> Result<Policy, ConfigError> {
    let is_own = config.own_policies.contains(name);
    let looks_like_file = name.ends_with(".toml") || name.contains(std::path::MAIN_SEPARATOR);
    if looks_like_file || Preset::named(name).is_err() && Path::new(name).is_file() {
        let read = match !is_own && config.project_policies.contains(name) {
            true => small_file::read_inside(config.environment.directory(), Path::new(name)),
            false => small_file::read(Path::new(name)),
        };
        let text =
            read.map_err(|source| ConfigError::PolicyFile { name: name.to_owned(), source })?;
        let mut policy = Policy::read(&text, settings).map_err(|source| match is_own {
            true => ConfigError::PolicyText { name: name.to_owned(), source },
            false => ConfigError::ForeignPolicy { name: name.to_owned() },
        })?;
        if policy.name.is_empty() {
            policy.name = Path::new(name).file_stem().unwrap_or_default().display().to_string();
        }
        return Ok(policy);
    }
    let mut all = seed::settings(name, &config.settings.seeds)?;
    all.extend_from_slice(settings);
    let tried = match (Policy::preset_with(name, &all), low_mark(name, &all)) {
        (Err(error), Some(low)) => {
            all.push((LOW_MARK.to_owned(), low));
            Policy::preset_with(name, &all).map_err(|_| error)
        }
        (tried, _) => tried,
    };
    let threshold = seed::threshold(name, &config.settings.seeds);
    tried.map_err(|source| match (source, threshold) {
        // The user knows the threshold under this name.
        (source @ PolicyError::Contradiction(_), Some((name, value))) => {
            ConfigError::SeedVariable { name, value: value.to_owned(), source }
        }
        (source, _) => source.into(),
    })
}

/// Returns the low mark for keys that lower the high mark of a preset to its low mark or below it,
/// and set no low mark themselves: the same share of the high mark as in the preset.
fn low_mark(preset: &str, keys: &[(String, String)]) -> Option<String> {
    if keys.iter().any(|(key, _)| key == LOW_MARK) {
        return None;
    }
    let (_, high) = keys.iter().rev().find(|(key, _)| key == HIGH_MARK)?;
    let preset = Policy::preset(preset).ok()?;
    let mark = |key: &str| match preset.setting(key)? {
        toml::Value::String(text) => mark(&text),
        toml::Value::Integer(tokens) => Some((u64::try_from(tokens).ok()?, "")),
        _ => None,
    };
    let (high, unit) = self::mark(high)?;
    let (numerator, denominator) = match (mark(LOW_MARK), mark(HIGH_MARK)) {
        (Some((low, low_unit)), Some((high, high_unit))) if low_unit == high_unit => (low, high),
        _ => (2, 3),
    };
    let low = high.saturating_mul(numerator).checked_div(denominator)?;
    // Rounded down, a small mark could be 0 or the high mark itself.
    Some(format!("{}{unit}", low.min(high.saturating_sub(1)).max(1)))
}

/// Parses a mark: a number of tokens, or a share in percent.
fn mark(text: &str) -> Option<(u64, &'static str)> {
    let text = text.trim().trim_matches('"');
    match text.strip_suffix('%') {
        Some(share) => Some((share.trim().parse().ok()?, "%")),
        None => Some((text.parse().ok()?, "")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::environment::Environment;

    /// A user who sets one mark need not know the other.
    #[test]
    fn the_low_mark_follows_a_high_mark_that_is_set_below_it() {
        let temp = tempfile::tempdir().unwrap();
        let environment = Environment::new(temp.path(), [("HOME", temp.path())]);
        let config = Config::empty(Arc::new(environment));
        let low = |name: &str, keys: &[(&str, &str)]| {
            let keys: Vec<(String, String)> =
                keys.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
            let policy = load(name, &keys, &config)?;
            Ok::<_, ConfigError>(policy.setting("fold.low").unwrap().to_string())
        };
        assert_eq!(low("auto", &[("fold.high", "50%")]).unwrap(), "\"46%\"");
        assert_eq!(low("auto", &[("fold.high", "95%")]).unwrap(), "\"93%\"", "it fits");
        assert!(low("auto", &[("fold.high", "high")]).is_err());
        let both = low("auto", &[("fold.high", "50%"), ("fold.low", "60%")]).unwrap_err();
        assert!(both.full_text().contains("fold.low (60%)"), "{}", both.full_text());
        let budget = Policy::preset("budget").unwrap();
        let high = budget.setting("fold.low").unwrap().as_integer().unwrap() - 1_000;
        let lower = low("budget", &[("fold.high", &high.to_string())]).unwrap();
        assert!(lower.parse::<i64>().unwrap() < high, "{lower}");
    }

    /// S3.5: the upper threshold alone lowers the lower one, too, if that would be above it.
    #[test]
    fn s3_5_the_lower_threshold_follows_the_upper_one() {
        let temp = tempfile::tempdir().unwrap();
        let environment = Environment::new(temp.path(), [("HOME", temp.path())]);
        let mut config = Config::empty(Arc::new(environment));
        let mut marks = |upper: &str| {
            config.settings.seeds.insert("UPPER_THRESHOLD", upper.to_owned());
            let policy = load("budget", &[], &config).unwrap();
            ["fold.low", "fold.high"].map(|key| policy.setting(key).unwrap().to_string())
        };
        assert_eq!(marks("20000"), ["12000", "20000"]);
        assert_eq!(marks("40000"), ["30000", "40000"]);
    }

    #[test]
    fn a_file_without_a_name_names_its_policy() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("mine.toml");
        std::fs::write(&path, "stages = []\n").unwrap();
        let path = path.display().to_string();
        let environment = Environment::new(temp.path(), [("HOME", temp.path())]);
        let config = Config::empty(Arc::new(environment)).with_own_policy(Some(&path));
        assert_eq!(load(&path, &[], &config).unwrap().name, "mine");
    }

    #[test]
    fn a_project_cannot_make_an_error_show_a_file_of_the_user() {
        let temp = tempfile::tempdir().unwrap();
        let (home, project) = (temp.path().join("home"), temp.path().join("project"));
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(&project).unwrap();
        let secret = home.join("credentials");
        std::fs::write(&secret, "https://user:TOKEN123@host.example\n").unwrap();
        std::fs::write(project.join("secrets"), "https://user:TOKEN123@host.example\n").unwrap();
        std::fs::write(project.join("good.toml"), "stages = []\n").unwrap();
        std::os::unix::fs::symlink(&secret, project.join("link.toml")).unwrap();
        let absolute = secret.display().to_string();
        let outside = [absolute.as_str(), "../home/credentials", "./link.toml", "./secrets"];
        for name in outside {
            let texts = [format!("policy = {name:?}"), format!("[models.m]\npolicy = {name:?}")];
            for text in texts {
                std::fs::write(project.join("waterline.toml"), text).unwrap();
                let environment = Environment::new(&project, [("HOME", &home)]);
                let config = Config::load(Arc::new(environment)).unwrap();
                let error = load(name, &[], &config).unwrap_err().full_text();
                assert!(!error.contains("TOKEN") && !error.contains("host.example"), "{error}");
            }
        }
        let environment = Environment::new(&project, [("HOME", &home)]);
        let config = Config::empty(Arc::new(environment)).with_own_policy(Some(&absolute));
        let error = load(&absolute, &[], &config).unwrap_err().full_text();
        assert!(error.contains("host.example"), "the user's own choice is quoted: {error}");
    }
}
