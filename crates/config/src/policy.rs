//! Loads policies by name or from a file, and reads the environment variables of the agents that
//! presets reproduce.

use std::path::Path;

use waterline::policy::{Policy, Preset};
use waterline_sandbox::small_file;

use crate::environment::Environment;
use crate::error::ConfigError;

/// An environment variable of an agent that a preset reproduces, under its original name.
#[derive(Clone, Copy, Debug)]
pub struct Seed {
    /// The variable's name.
    pub variable: &'static str,
    /// The preset it applies to.
    pub preset: &'static str,
    /// The keys of the policy that it sets.
    pub keys: &'static [&'static str],
}

/// The supported variables of those agents.
pub const SEEDS: [Seed; 3] = [
    Seed { variable: "MAX_MESSAGE_HISTORY", preset: "window", keys: &["window.messages"] },
    Seed {
        variable: "AGENT_MAX_CONTEXT_TOKENS",
        preset: "chat",
        keys: &["halve.tokens", "fold.high"],
    },
    Seed { variable: "AGENT_MAX_CONTEXT_TURNS", preset: "chat", keys: &["halve.turns"] },
];

/// Loads a preset by its name, or a policy from a file, and applies `settings` to it. Environment
/// variables set keys of a preset too; `settings` win over them.
///
/// # Errors
/// When there is no such policy, or a key or a value does not fit it.
pub fn load(
    name: &str,
    settings: &[(String, String)],
    environment: &Environment,
) -> Result<Policy, ConfigError> {
    let looks_like_file = name.ends_with(".toml") || name.contains(std::path::MAIN_SEPARATOR);
    if looks_like_file || Preset::named(name).is_err() && Path::new(name).is_file() {
        let text = small_file::read(Path::new(name))
            .map_err(|source| ConfigError::PolicyFile { name: name.to_owned(), source })?;
        return Policy::read(&text, settings)
            .map_err(|source| ConfigError::PolicyText { name: name.to_owned(), source });
    }
    let mut all = from_environment(name, environment)?;
    all.extend_from_slice(settings);
    Ok(Policy::preset_with(name, &all)?)
}

/// Returns the keys that environment variables set for a preset.
fn from_environment(
    preset: &str,
    environment: &Environment,
) -> Result<Vec<(String, String)>, ConfigError> {
    let mut all = Vec::new();
    for seed in SEEDS.iter().filter(|seed| seed.preset == preset) {
        // A blank variable is a mistake here, not the same as an unset one.
        let Some(value) = environment.variable_or_blank(seed.variable) else { continue };
        for key in seed.keys {
            let setting = ((*key).to_owned(), value.clone());
            let invalid = |error| ConfigError::SeedVariable {
                name: seed.variable,
                value: if value.is_empty() { "empty".to_owned() } else { value.clone() },
                source: error,
            };
            Policy::preset_with(preset, std::slice::from_ref(&setting)).map_err(invalid)?;
            all.push(setting);
        }
    }
    Ok(all)
}
