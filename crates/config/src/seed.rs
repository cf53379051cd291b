//! Settings of the agents that presets reproduce, under the names their users know: as variables,
//! in `.env`, and in config files in any case.

use std::collections::BTreeMap;

use waterline::phrase;
use waterline::phrase::Phrase;
use waterline::policy::{Policy, PolicyError};

use crate::error::ConfigError;

/// A setting of one of the agents that presets reproduce.
#[derive(Clone, Copy, Debug)]
pub struct Seed {
    /// The environment variable that sets it.
    pub variable: &'static str,
    /// The presets that it belongs to.
    pub presets: &'static [&'static str],
    /// The keys of the policy that it sets.
    pub keys: &'static [&'static str],
    format: Format,
}

/// How a value is written for the keys of a policy.
#[derive(Clone, Copy, Debug)]
enum Format {
    /// As it is.
    Same,
    /// `0.6` becomes `"60%"`.
    Share,
    /// `true` and `false` become values of `fold.when`.
    When,
}

/// Values of these settings by variable.
pub type SeedValues = BTreeMap<&'static str, String>;

const STEPS: &[&str] = &["init", "execute"];
const INIT: &[&str] = &["init"];
const EXECUTE: &[&str] = &["execute"];
const BUDGET: &[&str] = &["budget"];

/// All of these settings.
pub const SEEDS: [Seed; 22] = [
    seed("MAX_MESSAGE_HISTORY", &["window"], &["window.messages"], Format::Same),
    seed("KEEP_RECENT_STEPS", STEPS, &["window.steps"], Format::Same),
    seed("COMPACT_TRIGGER_THRESHOLD", STEPS, &["fold.high"], Format::Same),
    seed("API_HARD_LIMIT", STEPS, &["fold.target"], Format::Same),
    // For one of the two agents; a value for it wins over one for both.
    seed("INIT_KEEP_RECENT_STEPS", INIT, &["window.steps"], Format::Same),
    seed("INIT_COMPACT_TRIGGER_THRESHOLD", INIT, &["fold.high"], Format::Same),
    seed("INIT_API_HARD_LIMIT", INIT, &["fold.target"], Format::Same),
    seed("EXECUTE_KEEP_RECENT_STEPS", EXECUTE, &["window.steps"], Format::Same),
    seed("EXECUTE_COMPACT_TRIGGER_THRESHOLD", EXECUTE, &["fold.high"], Format::Same),
    seed("EXECUTE_API_HARD_LIMIT", EXECUTE, &["fold.target"], Format::Same),
    seed("AGENT_MAX_CONTEXT_TOKENS", &["chat"], &["halve.tokens", "fold.high"], Format::Same),
    seed("AGENT_MAX_CONTEXT_TURNS", &["chat"], &["halve.turns"], Format::Same),
    seed("ENABLE_CONTEXT_OPTIMIZATION", BUDGET, &["fold.when"], Format::When),
    seed("TARGET_USAGE_RATIO", BUDGET, &["fold.target"], Format::Share),
    seed("SUMMARY_TOKEN_RATIO", BUDGET, &["summarise.max"], Format::Share),
    seed("RECENT_TOKEN_RATIO", BUDGET, &["window.tokens"], Format::Share),
    seed("COMPRESS_TOOL_OUTPUT", BUDGET, &["preview.on"], Format::Same),
    seed("TOOL_OUTPUT_MAX_TOKENS", BUDGET, &["preview.over_tokens"], Format::Same),
    seed("UPPER_THRESHOLD", BUDGET, &["fold.high"], Format::Same),
    seed("TRIGGER_RATIO", BUDGET, &["summarise.update_ratio"], Format::Share),
    seed("LOWER_THRESHOLD", BUDGET, &["fold.low"], Format::Same),
    seed("MIN_MESSAGES", BUDGET, &["summarise.min_messages"], Format::Same),
];

const fn seed(
    variable: &'static str,
    presets: &'static [&'static str],
    keys: &'static [&'static str],
    format: Format,
) -> Seed {
    Seed { variable, presets, keys, format }
}

impl Seed {
    /// Returns the setting with this name, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        SEEDS.iter().find(|seed| seed.variable.eq_ignore_ascii_case(name))
    }

    /// Returns whether the setting belongs to a preset.
    #[must_use]
    pub fn is_for(&self, preset: &str) -> bool {
        self.presets.contains(&preset)
    }

    /// Returns the keys of the policy with a value.
    ///
    /// # Errors
    /// When a key of the preset cannot have the value.
    pub fn settings(
        &self,
        preset: &str,
        value: &str,
    ) -> Result<Vec<(String, String)>, ConfigError> {
        let refused = |why: Phrase| ConfigError::Variable {
            name: self.variable.to_owned(),
            value: shown(value),
            why,
        };
        let formatted = self.format.apply(value).map_err(refused)?;
        let pair = |key: &&str| ((*key).to_owned(), formatted.clone());
        let all: Vec<_> = self.keys.iter().map(pair).collect();
        for setting in &all {
            match Policy::preset_with(preset, std::slice::from_ref(setting)) {
                // Another setting may resolve it: both thresholds can be lowered together.
                Ok(_) | Err(PolicyError::Contradiction(_)) => {}
                Err(source) => {
                    let value = shown(value);
                    return Err(ConfigError::SeedVariable { name: self.variable, value, source });
                }
            }
        }
        Ok(all)
    }
}

impl Format {
    fn apply(self, value: &str) -> Result<String, Phrase> {
        let value = value.trim();
        match self {
            Self::Same => Ok(match value {
                "True" | "TRUE" => "true".to_owned(),
                "False" | "FALSE" => "false".to_owned(),
                other => other.to_owned(),
            }),
            Self::Share => {
                let share = value.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
                let share = share.ok_or_else(|| {
                    phrase!("variable-share", "it must be a number from 0.0 to 1.0")
                })?;
                Ok(format!("\"{}%\"", (share * 10_000.0).round() / 100.0))
            }
            Self::When => match value.to_ascii_lowercase().as_str() {
                "true" => Ok("\"call\"".to_owned()),
                "false" => Ok("\"window\"".to_owned()),
                _ => Err(phrase!("variable-flag", "it must be true or false")),
            },
        }
    }
}

fn shown(value: &str) -> String {
    if value.is_empty() { "empty".to_owned() } else { value.to_owned() }
}

/// Returns the keys that the values set in a preset.
pub(crate) fn settings(
    preset: &str,
    values: &SeedValues,
) -> Result<Vec<(String, String)>, ConfigError> {
    let mut all = Vec::new();
    for seed in SEEDS.iter().filter(|seed| seed.is_for(preset)) {
        if let Some(value) = values.get(seed.variable) {
            all.extend(seed.settings(preset, value)?);
        }
    }
    Ok(all)
}

/// Returns a threshold of these values that may contradict another one, and its value.
pub(crate) fn threshold<'a>(
    preset: &str,
    values: &'a SeedValues,
) -> Option<(&'static str, &'a str)> {
    let is_threshold =
        |seed: &&Seed| seed.is_for(preset) && seed.keys.iter().any(|key| [LOW, HIGH].contains(key));
    let mut seeds = SEEDS.iter().rev().filter(is_threshold);
    seeds.find_map(|seed| Some((seed.variable, values.get(seed.variable)?.as_str())))
}

/// The keys of the marks.
const HIGH: &str = "fold.high";
const LOW: &str = "fold.low";

/// Settings of these agents that are settings here under another name: the variable, the section
/// and the key.
pub(crate) const ALIASES: [(&str, Option<&str>, &str); 2] =
    [("AGENT_MAX_STEPS", Some("agent"), "steps"), ("TOKEN_CALCULATION_METHOD", None, "tokenizer")];

/// Renames the aliases in the table of a config file. A setting under its own name wins.
pub(crate) fn rename(table: &mut toml::Table) {
    for (variable, section, key) in ALIASES {
        let named = table.keys().find(|name| name.eq_ignore_ascii_case(variable)).cloned();
        let Some(value) = named.and_then(|name| table.remove(&name)) else { continue };
        let place = match section {
            None => Some(&mut *table),
            Some(section) => table
                .entry(section)
                .or_insert_with(|| toml::Value::Table(toml::Table::new()))
                .as_table_mut(),
        };
        if let Some(place) = place {
            place.entry(key).or_insert(value);
        }
    }
}

/// Returns whether a setting has this name, in any case: a seed's or an alias.
pub(crate) fn is_setting(name: &str) -> bool {
    let mut aliases = ALIASES.iter();
    Seed::named(name).is_some() || aliases.any(|(variable, ..)| variable.eq_ignore_ascii_case(name))
}

/// Returns the key of a setting among the settings of this program.
pub(crate) fn key(name: &str) -> String {
    let alias = ALIASES.iter().find(|(variable, ..)| variable.eq_ignore_ascii_case(name));
    match alias {
        Some((_, Some(section), key)) => format!("{section}.{key}"),
        Some((_, None, key)) => (*key).to_owned(),
        None => name.to_ascii_lowercase(),
    }
}

/// Removes the settings from the table of a config file and returns their values.
pub(crate) fn lift(table: &mut toml::Table) -> SeedValues {
    let named: Vec<String> =
        table.keys().filter(|key| Seed::named(key).is_some()).cloned().collect();
    let values = named.into_iter().filter_map(|key| {
        let value = match table.remove(&key)? {
            toml::Value::String(text) => text,
            other => other.to_string(),
        };
        Some((Seed::named(&key)?.variable, value))
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(all: &[(&'static str, &str)]) -> SeedValues {
        all.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
    }

    /// S1.4, S1.5, S2.4, S2.5, S3.29, S3.34: every setting of the seeds reaches its preset.
    #[test]
    fn s3_29_each_setting_sets_its_keys_in_its_presets() {
        let cases = [
            ("KEEP_RECENT_STEPS", "7", "7"),
            ("COMPACT_TRIGGER_THRESHOLD", "90000", "90000"),
            ("API_HARD_LIMIT", "180000", "180000"),
            ("ENABLE_CONTEXT_OPTIMIZATION", "False", "\"window\""),
            ("TARGET_USAGE_RATIO", "0.55", "\"55%\""),
            ("SUMMARY_TOKEN_RATIO", "0.126", "\"12.6%\""),
            ("RECENT_TOKEN_RATIO", "1.0", "\"100%\""),
            ("COMPRESS_TOOL_OUTPUT", "False", "false"),
            ("TOOL_OUTPUT_MAX_TOKENS", "300", "300"),
            ("MIN_MESSAGES", "12", "12"),
            ("TRIGGER_RATIO", "0.3", "\"30%\""),
            ("INIT_KEEP_RECENT_STEPS", "4", "4"),
            ("EXECUTE_COMPACT_TRIGGER_THRESHOLD", "600000", "600000"),
        ];
        for (name, value, expected) in cases {
            let seed = Seed::named(name).unwrap();
            for preset in seed.presets {
                let all = settings(preset, &values(&[(seed.variable, value)])).unwrap();
                let policy = Policy::preset_with(preset, &all).unwrap();
                for key in seed.keys {
                    assert_eq!(policy.setting(key).unwrap().to_string(), expected, "{name} {key}");
                }
            }
        }
    }

    /// Each alone would contradict the preset's other threshold.
    #[test]
    fn both_thresholds_can_be_lowered_together() {
        let both = values(&[("UPPER_THRESHOLD", "20000"), ("LOWER_THRESHOLD", "9000")]);
        let policy = Policy::preset_with("budget", &settings("budget", &both).unwrap()).unwrap();
        assert_eq!(policy.setting("fold.high").unwrap().as_integer(), Some(20_000));
        assert_eq!(policy.setting("fold.low").unwrap().as_integer(), Some(9_000));
    }

    /// S1.4, S1.5: the two agents can have values of their own.
    #[test]
    fn s1_4_a_value_for_one_agent_wins_over_one_for_both() {
        let all = values(&[("KEEP_RECENT_STEPS", "7"), ("INIT_KEEP_RECENT_STEPS", "4")]);
        let steps = |preset: &str| {
            let policy = Policy::preset_with(preset, &settings(preset, &all).unwrap()).unwrap();
            policy.setting("window.steps").unwrap().as_integer()
        };
        assert_eq!((steps("init"), steps("execute")), (Some(4), Some(7)));
    }

    #[test]
    fn a_wrong_value_is_refused_with_the_setting_and_its_range() {
        for (name, value, range) in [
            ("TARGET_USAGE_RATIO", "60", "from 0.0 to 1.0"),
            ("ENABLE_CONTEXT_OPTIMIZATION", "maybe", "true or false"),
            ("MAX_MESSAGE_HISTORY", "", "from 10 to 100"),
        ] {
            let seed = Seed::named(name).unwrap();
            let error = seed.settings(seed.presets[0], value).unwrap_err().full_text();
            assert!(error.contains(name) && error.contains(range), "{error}");
        }
    }
}
