//! Errors of the settings.

use std::path::Path;

use waterline_config::ConfigError;

use super::syntax::{json_error, toml_file_error};
use super::system::io_error;
use super::{agent, policy, provider};
use crate::phrase::phrase;
use crate::text;

pub(super) fn describe(error: &ConfigError) -> Option<String> {
    Some(match error {
        ConfigError::File { path, .. } => {
            text!("error-config-file", path = shown(path))
        }
        ConfigError::Range { key, value, allowed } => text!(
            "error-config-range",
            key = key.as_str(),
            value = value.as_str(),
            allowed = phrase(allowed)
        ),
        ConfigError::Preference(name) => text!("error-config-preference", name = name.as_str()),
        ConfigError::Directory { path, source } => {
            text!("error-config-directory", path = shown(path), cause = io_error(source))
        }
        ConfigError::Server(name) => text!("error-config-server", name = name.as_str()),
        ConfigError::Project { file, key, why } => {
            text!("error-config-project", file = *file, key = key.as_str(), why = phrase(why))
        }
        ConfigError::Variable { name, value, why } => text!(
            "error-config-variable",
            name = name.as_str(),
            value = value.as_str(),
            why = phrase(why)
        ),
        ConfigError::SeedVariable { name, value, .. } => {
            text!("error-config-seed-variable", name = *name, value = value.as_str())
        }
        ConfigError::NoHome(path) => {
            text!("error-config-no-home", path = shown(path))
        }
        ConfigError::NoDataDirectory => text!("error-config-no-data-directory"),
        // The cause names the file.
        ConfigError::PolicyFile { .. } => text!("error-config-policy-file"),
        ConfigError::PolicySetting { key, origin, .. } => {
            text!("error-config-policy-setting", key = key.as_str(), origin = origin.as_str())
        }
        ConfigError::PolicyText { name, .. } => {
            text!("error-config-policy-text", name = name.as_str())
        }
        ConfigError::ForeignPolicy { name } => {
            text!("error-config-foreign-policy", name = name.as_str())
        }
        ConfigError::KeyFile { path, .. } => {
            text!("error-config-key-file", path = shown(path))
        }
        ConfigError::KeyVariable { model, variable } => {
            text!("error-config-key-variable", model = model.as_str(), variable = variable.as_str())
        }
        ConfigError::UnknownModel { model, variable } => {
            text!("error-config-unknown-model", model = model.as_str(), variable = *variable)
        }
        ConfigError::NoKey { model, variable } => {
            text!("error-config-no-key", model = model.as_str(), variable = *variable)
        }
        ConfigError::NoModel { base } => text!("error-config-no-model", base = base.as_str()),
        ConfigError::Summariser(_) => text!("error-config-summarizer"),
        ConfigError::NoEncoder { name } => text!("error-config-no-encoder", name = name.as_str()),
        ConfigError::NoEncoderModel => text!("error-config-no-encoder-model"),
        ConfigError::Approvals { path, .. } => {
            text!("error-config-approvals", path = shown(path))
        }
        ConfigError::Syntax(error) => toml_file_error(error),
        ConfigError::Json(error) => text!("error-config-json", cause = json_error(error)),
        ConfigError::Read(error) => io_error(error),
        ConfigError::Policy(error) => return policy::describe(error),
        ConfigError::Endpoint(error) => return provider::describe(error),
        ConfigError::Agent(error) => return agent::describe(error),
        _ => return None,
    })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
