//! What a model's summary is to hold: the request, and what an answer must have so that it can be
//! believed. Data: `presets/summaries/`, one file a schema.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

/// The names of the schemas.
pub const NAMES: &[&str] = &["general", "init", "execute", "daily", "facts"];

/// The schema of a policy that names none.
pub const GENERAL: &str = "general";

const TEXTS: [&str; 5] = [
    include_str!("../../presets/summaries/general.toml"),
    include_str!("../../presets/summaries/init.toml"),
    include_str!("../../presets/summaries/execute.toml"),
    include_str!("../../presets/summaries/daily.toml"),
    include_str!("../../presets/summaries/facts.toml"),
];

static SCHEMAS: LazyLock<Vec<Arc<Schema>>> = LazyLock::new(|| {
    // They are part of the program and a test reads them all.
    TEXTS.iter().filter_map(|text| toml::from_str(text).ok()).map(Arc::new).collect()
});

/// What a model's summary is to hold.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Schema {
    /// Its name.
    pub name: String,
    /// How it is written.
    pub form: Form,
    /// What must be there: the keys of the JSON, or headings.
    #[serde(default)]
    pub keys: Vec<String>,
    /// What the model is asked.
    pub request: String,
}

/// How a summary is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Words, with headings.
    Text,
    /// A JSON object inside `<compact_summary>`.
    Json,
    /// `[DAILY]` for the day's file and `[MEMORY]` for the context.
    Sections,
}

impl Schema {
    /// The schema of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Arc<Self>> {
        SCHEMAS.iter().find(|schema| schema.name == name).cloned()
    }

    /// The schema of a policy that names none.
    #[must_use]
    pub fn general() -> Arc<Self> {
        let plain = || Self {
            name: String::new(),
            form: Form::Text,
            keys: Vec::new(),
            request: String::new(),
        };
        Self::named(GENERAL).unwrap_or_else(|| Arc::new(plain()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_there_and_asks_for_something() {
        for name in NAMES {
            let schema = Schema::named(name).unwrap();
            assert!(schema.request.len() > 100 && !schema.keys.is_empty(), "{name}");
            for key in &schema.keys {
                assert!(schema.request.contains(key.as_str()), "{name} must ask for {key}");
            }
        }
    }

    /// S1.42, S1.47: a summary right at the start carries the initial context; the basis of the
    /// next decision is in it.
    #[test]
    fn s1_42_s1_47_the_roles_are_asked_for_what_later_steps_rest_on() {
        for name in ["init", "execute"] {
            let request = Schema::named(name).unwrap().request.clone();
            assert!(request.contains("nothing but the initial context was received"), "{name}");
        }
        assert!(
            Schema::named("execute")
                .unwrap()
                .request
                .contains("what the decision to stop, go back or go on rests on")
        );
        assert!(Schema::named("init").unwrap().request.contains("awaits a human's approval"));
    }

    /// S1.31–S1.37: the keys of the two roles.
    #[test]
    fn s1_31_to_s1_37_the_roles_have_their_keys() {
        let keys = |name| Schema::named(name).unwrap().keys.join(" ");
        assert_eq!(
            keys("init"),
            "current_design_summary execute_feedback_summary analysis_conclusions pending_actions key_paths"
        );
        assert_eq!(
            keys("execute"),
            "generated_components evaluation_progress identified_issues pending_work key_paths"
        );
        let inner = [
            (
                "init",
                "unified_scenario_design business_rules_key_points format_specifications execution_output_dir total_failure_samples layer1_problems_summary layer1_problems_report",
            ),
            (
                "execute",
                "tools checkers samples current_iteration success_rate layer_status layer2_problems layer3_problems fix_attempts execution_output_dir",
            ),
        ];
        for (name, words) in inner {
            let request = Schema::named(name).unwrap().request.clone();
            assert!(words.split(' ').all(|word| request.contains(word)), "{name}");
        }
    }
}
