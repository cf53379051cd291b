//! Loads policies by name or from a file.

use std::path::Path;

use waterline::policy::{Policy, Preset};
use waterline_sandbox::small_file;

use crate::error::ConfigError;
use crate::seed::{self, SeedValues};

/// Loads a preset by its name, or a policy from a file, and applies `settings` to it. Seed values
/// set keys of their presets; `settings` win over them.
///
/// # Errors
/// When there is no such policy, or a key or a value does not fit it.
pub fn load(
    name: &str,
    settings: &[(String, String)],
    seeds: &SeedValues,
) -> Result<Policy, ConfigError> {
    let looks_like_file = name.ends_with(".toml") || name.contains(std::path::MAIN_SEPARATOR);
    if looks_like_file || Preset::named(name).is_err() && Path::new(name).is_file() {
        let text = small_file::read(Path::new(name))
            .map_err(|source| ConfigError::PolicyFile { name: name.to_owned(), source })?;
        return Policy::read(&text, settings)
            .map_err(|source| ConfigError::PolicyText { name: name.to_owned(), source });
    }
    let mut all = seed::settings(name, seeds)?;
    all.extend_from_slice(settings);
    Ok(Policy::preset_with(name, &all)?)
}
