//! A policy: when to fold, and an ordered list of stages with their settings. Policies are TOML;
//! presets are built-in policies.

mod preset;

pub use crate::setting::{
    Allowed, By, FOLD_KEYS, FoldRule, Key, PolicyError, Resume, Size, Threshold, When,
};
pub use preset::{DEFAULT_POLICY, PRESETS, Preset};

use std::sync::Arc;

use crate::draft::{CountLimit, Search, Stage};
use crate::ledger::Weights;
use crate::phrase;
use crate::phrase::Phrase;
use crate::setting;
use crate::stage;
use crate::summary::Mode;

/// When to fold, and which stages run.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The preset or file that it was read from.
    pub name: String,
    /// What it does, for people.
    pub about: String,
    /// When a fold starts, and how much it must free.
    pub fold: FoldRule,
    /// The stages, in the order in which they run.
    pub stages: Vec<Arc<dyn Stage>>,
    /// Warnings about the settings.
    pub warnings: Vec<Phrase>,
    /// How the ledger ranks values.
    pub weights: Weights,
    text: String,
    kept: u32,
}

impl Policy {
    /// Returns the preset with this name.
    ///
    /// # Errors
    /// If the preset does not exist.
    pub fn preset(name: &str) -> Result<Self, PolicyError> {
        Self::preset_with(name, &[])
    }

    /// Returns the preset with this name and some of its keys changed.
    ///
    /// # Errors
    /// If the preset does not exist, or if a key or value is invalid.
    pub fn preset_with(name: &str, settings: &[(String, String)]) -> Result<Self, PolicyError> {
        Self::read(Preset::named(name)?.text, settings)
    }

    /// Parses a policy and sets some of its keys (`window.messages` = `60`).
    ///
    /// # Errors
    /// If the text is not a policy, or if a key or value is invalid.
    pub fn read(text: &str, settings: &[(String, String)]) -> Result<Self, PolicyError> {
        let mut table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| PolicyError::Syntax(message(&error)))?;
        use_current_names(&mut table);
        for (key, value) in settings {
            set(&mut table, key, value)?;
        }
        Self::build(&table)
    }

    /// Returns the search that a stage needs before each plan with a new user message or a fold,
    /// if a stage quotes what the context no longer shows.
    #[must_use]
    pub fn search(&self) -> Option<Search> {
        self.stages.iter().find_map(|stage| stage.search())
    }

    /// Returns whether a fold reads the texts of messages that it will not send: to have a model
    /// summarize them, or to quote them.
    #[must_use]
    pub fn reads_dropped(&self) -> bool {
        let mut summaries = self.stages.iter().filter_map(|stage| stage.summary());
        summaries.any(|summary| summary.mode != Mode::Digest) || self.search().is_some()
    }

    /// Returns the number of messages or turns above which the policy drops the oldest ones, if it
    /// has such a limit.
    #[must_use]
    pub fn limit(&self) -> Option<CountLimit> {
        let summarizes = self.stages.iter().any(|stage| stage.summary().is_some());
        self.stages.iter().find_map(|stage| stage.limit(summarizes))
    }

    /// Returns the policy as TOML, with all changed keys.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the value of a key (`window.messages`) if it is set.
    #[must_use]
    pub fn setting(&self, key: &str) -> Option<toml::Value> {
        let (section, name) = key.split_once('.')?;
        let section = stage::current_name(section);
        self.text.parse::<toml::Table>().ok()?.get(section)?.get(name).cloned()
    }

    /// Returns the value of a key (`window.tokens`) if it is set and a size.
    #[must_use]
    pub fn size(&self, key: &str) -> Option<Size> {
        Size::parse(&self.setting(key)?)
    }

    /// Returns the share of a large context that a fold usually keeps, in hundredths of a percent.
    /// It may be less than the low mark allows.
    pub(crate) const fn kept_share(&self) -> u32 {
        self.kept
    }

    fn build(table: &toml::Table) -> Result<Self, PolicyError> {
        let stages = stage_names(table)?;
        for (section, value) in table {
            check_section(section, value, &stages)?;
        }
        let fold = FoldRule::read(section(table, "fold"))?;
        let built =
            stages.iter().map(|name| build_stage(name, table)).collect::<Result<Vec<_>, _>>()?;
        let text =
            |key: &str| table.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        let mut policy = Self {
            name: text("name"),
            about: text("about"),
            fold,
            stages: built,
            warnings: Vec::new(),
            weights: Weights::shipped().clone(),
            text: toml::to_string(table).unwrap_or_default(),
            kept: kept_share(table),
        };
        policy.warnings =
            policy.stages.iter().filter_map(|stage| stage.settings_warning(&policy.fold)).collect();
        Ok(policy)
    }
}

const TOP_LEVEL_KEYS: [&str; 4] = ["name", "about", "stages", "fold"];

/// Returns the message of a TOML error. It has several lines: they point at the place.
fn message(error: &toml::de::Error) -> String {
    error.to_string().trim_end().to_owned()
}

/// The number of tokens for which [`Policy::kept_share`] is estimated.
const LARGE_CONTEXT: usize = 64_000;

/// Estimates [`Policy::kept_share`] as the newest messages plus the summary block. For the newest
/// messages it takes the mean of what a short and a long conversation keep. If the policy does not
/// limit their tokens, the low mark alone decides.
fn kept_share(table: &toml::Table) -> u32 {
    let size = |name: &str, key: &str| {
        section(table, name).and_then(|section| section.get(key)).and_then(Size::parse)
    };
    let tokens = |size: Option<Size>| size.map_or(0, |size| size.of(LARGE_CONTEXT));
    let most = size("window", "tokens");
    if most.is_none() {
        return u32::MAX;
    }
    let newest = tokens(most).midpoint(tokens(size("window", "tokens_min").or(most)));
    let block = tokens(size("summarise", "max")) + tokens(size("summarise", "ledger"));
    u32::try_from((newest + block) * setting::WHOLE as usize / LARGE_CONTEXT).unwrap_or(u32::MAX)
}

fn section<'a>(table: &'a toml::Table, name: &str) -> Option<&'a toml::Table> {
    table.get(name).and_then(toml::Value::as_table)
}

fn stage_names(table: &toml::Table) -> Result<Vec<String>, PolicyError> {
    let key = || "stages".to_owned();
    let allowed = || phrase!("allowed-stages", "a list of stage names, each at most once");
    let invalid = |value: String| PolicyError::BadValue { key: key(), value, allowed: allowed() };
    let missing = || PolicyError::MissingKey { key: key(), allowed: allowed() };
    let value = table.get("stages").ok_or_else(missing)?;
    let list = value.as_array().ok_or_else(|| invalid(value.to_string()))?;
    let mut names: Vec<String> = Vec::new();
    for item in list {
        let name = item.as_str().ok_or_else(|| invalid(item.to_string()))?;
        if names.iter().any(|known| known == name) {
            return Err(invalid(value.to_string()));
        }
        stage::spec(name)?;
        names.push(name.to_owned());
    }
    Ok(names)
}

fn check_section(name: &str, value: &toml::Value, stages: &[String]) -> Result<(), PolicyError> {
    match (name, value) {
        ("stages", _) => Ok(()),
        ("name" | "about", toml::Value::String(_)) => Ok(()),
        ("name" | "about", other) => Err(PolicyError::BadValue {
            key: name.into(),
            value: other.to_string(),
            allowed: Allowed::Text.phrase(),
        }),
        ("fold", toml::Value::Table(table)) => setting::check(name, FOLD_KEYS, table),
        (_, toml::Value::Table(table)) if stage::spec(name).is_ok() => {
            if !stages.iter().any(|stage| stage == name) {
                return Err(PolicyError::Contradiction(phrase!(
                    "policy-unused-section",
                    "section [{name}] is set, but {name:?} is not among the stages",
                    name = name
                )));
            }
            setting::check(name, stage::spec(name)?.keys, table)
        }
        _ => Err(PolicyError::UnknownKey {
            key: name.into(),
            known: TOP_LEVEL_KEYS
                .into_iter()
                .chain(stages.iter().map(String::as_str))
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}

fn build_stage(name: &str, table: &toml::Table) -> Result<Arc<dyn Stage>, PolicyError> {
    let spec = stage::spec(name)?;
    let settings = section(table, name).cloned().unwrap_or_default();
    (spec.build)(settings)
        .map_err(|error| PolicyError::Syntax(format!("{name}: {}", message(&error))))
}

/// Removes the sections of stages that are no longer listed.
fn drop_unused_sections(table: &mut toml::Table) {
    let listed = table.get("stages").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    table.retain(|name, _| {
        stage::spec(name).is_err() || listed.iter().any(|item| item.as_str() == Some(name))
    });
}

/// Replaces older names of stages, in the list and as sections.
fn use_current_names(table: &mut toml::Table) {
    if let Some(stages) = table.get_mut("stages").and_then(toml::Value::as_array_mut) {
        for stage in stages {
            if let toml::Value::String(name) = stage {
                *name = stage::current_name(name).to_owned();
            }
        }
    }
    let sections: Vec<String> = table.keys().cloned().collect();
    for name in sections {
        let current = stage::current_name(&name);
        if current != name
            && !table.contains_key(current)
            && let Some(section) = table.remove(&name)
        {
            table.insert(current.to_owned(), section);
        }
    }
}

/// Sets `section.key` or a top-level key. A value that is not valid TOML is taken as a text.
fn set(table: &mut toml::Table, key: &str, value: &str) -> Result<(), PolicyError> {
    let parsed = toml::from_str::<toml::Table>(&format!("value = {value}")).ok();
    let value = parsed
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.into()));
    let Some((name, key)) = key.split_once('.') else {
        if table.get(key).is_some_and(toml::Value::is_table) {
            return Err(PolicyError::Contradiction(phrase!(
                "policy-is-section",
                "{key} is a section; set one of its keys: {key}.KEY",
                key = key
            )));
        }
        table.insert(key.into(), value);
        if key == "stages" {
            use_current_names(table);
            drop_unused_sections(table);
        }
        return Ok(());
    };
    let name = stage::current_name(name);
    let section = table.entry(name).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    let toml::Value::Table(section) = section else {
        return Err(PolicyError::UnknownKey {
            key: format!("{name}.{key}"),
            known: TOP_LEVEL_KEYS.join(", "),
        });
    };
    section.insert(key.into(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preset_with(name: &str, key: &str, value: &str) -> Result<Policy, PolicyError> {
        Policy::preset_with(name, &[(key.to_owned(), value.to_owned())])
    }

    #[test]
    fn every_preset_parses_and_round_trips() {
        for preset in PRESETS {
            let policy = Policy::preset(preset.name).unwrap();
            assert_eq!(policy.name, preset.name);
            assert!(!policy.about.is_empty());
            let again = Policy::read(policy.text(), &[]).unwrap();
            assert_eq!(again.text(), policy.text());
        }
    }

    /// S0.28, E.12: out-of-range values are rejected, not clamped.
    #[test]
    fn s0_28_e12_a_value_out_of_range_is_refused_with_key_value_and_range() {
        for value in ["9", "101", "\"abc\"", "\"\"", "40.5", "abc"] {
            let error = preset_with("window", "window.messages", value).unwrap_err().to_string();
            assert!(
                error.contains("window.messages") && error.contains("from 10 to 100"),
                "{error}"
            );
        }
        for value in ["10", "100"] {
            preset_with("window", "window.messages", value).unwrap();
        }
        assert!(Policy::preset("window").unwrap().text().contains("messages = 40"));
    }

    /// Section F of the requirements: the presets carry the numbers their seeds document.
    #[test]
    fn presets_carry_the_documented_numbers() {
        let documented: [(&str, &str, &str, toml::Value); 24] = [
            ("window", "window", "messages", 40.into()),
            ("window", "trim", "over_chars", 1_000.into()),
            ("init", "fold", "high", 150_000.into()),
            ("init", "window", "steps", 3.into()),
            ("init", "summarise", "max", 4_000.into()),
            ("init", "trim", "over_chars", 5_000.into()),
            ("execute", "fold", "high", 700_000.into()),
            ("execute", "window", "steps", 5.into()),
            ("chat", "fold", "high", 50_000.into()),
            ("chat", "halve", "turns", 20.into()),
            ("chat", "trim", "over_chars", 20_000.into()),
            ("chat", "emergency", "result_chars", 10_000.into()),
            ("budget", "fold", "target", "60%".into()),
            ("budget", "fold", "messages", 10.into()),
            ("budget", "fold", "high", 50_000.into()),
            ("budget", "fold", "low", 30_000.into()),
            ("budget", "window", "tokens", "65%".into()),
            ("budget", "summarise", "max", "26%".into()),
            ("budget", "summarise", "min_messages", 20.into()),
            ("budget", "preview", "over_tokens", 200.into()),
            ("dual-track", "fold", "messages", 30.into()),
            ("dual-track", "fold", "high", 3_000.into()),
            ("dual-track", "window", "messages", 20.into()),
            ("dual-track", "window", "tokens", 4_000.into()),
        ];
        for (preset, section, key, value) in documented {
            let table: toml::Table = Policy::preset(preset).unwrap().text().parse().unwrap();
            assert_eq!(table[section][key], value, "{preset}: {section}.{key}");
        }
    }

    #[test]
    fn an_unknown_key_is_rejected_with_the_known_ones() {
        let error = preset_with("chat", "halve.turn", "5").unwrap_err().to_string();
        assert!(error.contains("halve.turn") && error.contains("turns"), "{error}");
        let error = preset_with("chat", "halves.turns", "5").unwrap_err().to_string();
        assert!(error.contains("halves"), "{error}");
        let error = preset_with("chat", "window.turns", "5").unwrap_err().to_string();
        assert!(error.contains("not among the stages"), "{error}");
    }

    /// Sessions, preferences and policy files keep the name `digest`.
    #[test]
    fn the_old_name_of_a_stage_works_everywhere() {
        let preset = |key: &str| Policy::preset_with("init", &[(key.to_owned(), "7".to_owned())]);
        let policy = preset("digest.keep_turns").unwrap();
        assert_eq!(policy.text(), preset("answers.keep_turns").unwrap().text());
        assert_eq!(policy.setting("digest.keep_turns"), Some(7.into()));
        let file = "stages = ['digest']\n[digest]\nover = 500\n";
        let current = "stages = ['answers']\n[answers]\nover = 500\nkeep_turns = 2\n";
        for key in ["digest.keep_turns", "answers.keep_turns"] {
            let set = Policy::read(file, &[(key.to_owned(), "2".to_owned())]).unwrap();
            assert_eq!(set.text(), Policy::read(current, &[]).unwrap().text());
        }
        let stages = |stages: &str| Policy::read(current, &[("stages".into(), stages.into())]);
        assert_eq!(stages("['digest']").unwrap().setting("answers.keep_turns"), Some(2.into()));
        assert!(stages("['digest', 'answers']").is_err());
        assert!(preset("digest.keep_turn").is_err());
    }

    #[test]
    fn unknown_presets_and_stages_are_rejected_with_the_known_ones() {
        let error = Policy::preset("autox").unwrap_err().to_string();
        assert!(error.contains("autox") && error.contains("dual-track"), "{error}");
        let error = Policy::read("stages = [\"squeeze\"]", &[]).unwrap_err().to_string();
        assert!(error.contains("squeeze") && error.contains("summarise"), "{error}");
        let error = Policy::read("stages = [\"cap\", \"cap\"]", &[]).unwrap_err().to_string();
        assert!(error.contains("each at most once"), "{error}");
    }

    /// C3.3: the low mark is lower than the high mark.
    #[test]
    fn c3_3_the_low_mark_must_lie_below_the_high_mark() {
        let error = preset_with("budget", "fold.low", "60000").unwrap_err().to_string();
        assert!(error.contains("fold.low") && error.contains("fold.high"), "{error}");
    }

    /// C4.1: a threshold that can fire without effect is allowed, with a warning.
    #[test]
    fn c4_1_a_trigger_below_the_limit_is_warned_about() {
        let policy = Policy::preset("dual-track").unwrap();
        assert!(
            policy.warnings.iter().any(|warning| warning.as_str().contains("fold.high")),
            "{:?}",
            policy.warnings
        );
    }

    #[test]
    fn invalid_toml_is_an_error_with_its_line() {
        let error = Policy::read("stages = [", &[]).unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}
