//! [`ConfigError`]: why settings cannot be used. Each variant carries the facts; the program that
//! shows it may add a hint.

use std::path::PathBuf;

use waterline::phrase;
use waterline::phrase::Phrase;
use waterline::policy::{Allowed, PolicyError};
use waterline_agent::AgentError;
use waterline_provider::CallError;

/// An error in the settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// A file is not valid TOML, or has an unknown key.
    #[error(transparent)]
    Syntax(#[from] toml::de::Error),
    /// A config file is invalid.
    #[error("invalid config file {path}")]
    File {
        /// The file's path.
        path: PathBuf,
        /// The error in the file.
        source: Box<ConfigError>,
    },
    /// A JSON file is not a table of settings.
    #[error("not a JSON object of settings: {0}")]
    Json(#[from] serde_json::Error),
    /// A JSON file has a value that settings cannot have.
    #[error(transparent)]
    Value(#[from] toml::ser::Error),
    /// A user cannot have a preference of this name.
    #[error(
        "{0} is not a preference; preferences are policy, model, the keys of a policy, and names \
         such as max_message_history"
    )]
    Preference(String),
    /// A value is outside its range.
    #[error("{key} is {value}; it must be {allowed}")]
    Range {
        /// The key, with the names of its tables: `agent.steps`.
        key: String,
        /// The value as it is written.
        value: String,
        /// A description of the allowed values.
        allowed: Phrase,
    },
    /// The directory that the agent is to work in cannot be used.
    #[error("cannot work in {path}")]
    Directory {
        /// The path as it was given.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// An MCP server has both a command and a URL, or neither.
    #[error("mcp.{0} must set either `command` or `url`")]
    Server(String),
    /// A project's file sets a key that only the user may set.
    #[error("{file} sets {key}, which {why}; that belongs in your user config")]
    Project {
        /// The name of the file.
        file: &'static str,
        /// The key, with the names of its tables: `agent.network`.
        key: String,
        /// What the key does that a project may not.
        why: Phrase,
    },
    /// An environment variable has an invalid value.
    #[error("invalid {name}={value}: {why}")]
    Variable {
        /// The name of the variable.
        name: String,
        /// The value in quotes.
        value: String,
        /// Why the value is invalid.
        why: Phrase,
    },
    /// An environment variable that sets keys of a policy has an invalid value.
    #[error("{name} is {value}")]
    SeedVariable {
        /// The name of the variable.
        name: &'static str,
        /// The value as it was set.
        value: String,
        /// Why the policy rejects it.
        source: PolicyError,
    },
    /// A path starts with `~/` and the home directory is unknown.
    #[error("cannot expand {0}: HOME is not set; use an absolute path")]
    NoHome(PathBuf),
    /// The directory for the program's data is unknown.
    #[error("no data directory: HOME is not set; set HOME or XDG_DATA_HOME")]
    NoDataDirectory,
    /// A policy file cannot be read.
    #[error("cannot load the policy")]
    PolicyFile {
        /// The path as it was given.
        name: String,
        /// The I/O error, which names the file.
        source: std::io::Error,
    },
    /// A setting names a policy that does not exist.
    #[error("invalid {key} in {origin}")]
    PolicySetting {
        /// The key: `policy`, or `models.NAME.policy`.
        key: String,
        /// The file or the variable that sets it.
        origin: String,
        /// Why there is no such policy.
        source: Box<ConfigError>,
    },
    /// A policy file is invalid.
    #[error("invalid policy file {name}")]
    PolicyText {
        /// The path as it was given.
        name: String,
        /// The error in the policy.
        source: PolicyError,
    },
    /// A policy file that the user did not choose is invalid. Its content is not shown.
    #[error(
        "invalid policy file {name}; its content is not shown, because a project or a session \
         names it"
    )]
    ForeignPolicy {
        /// The path as it was given.
        name: String,
    },
    /// A policy does not exist, or one of its keys is invalid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A model's key file cannot be read.
    #[error("cannot read the API key file {path}")]
    KeyFile {
        /// The file's path.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The configured variable for a model's key is not set.
    #[error("no API key for {model}: ${variable} is not set")]
    KeyVariable {
        /// The name of the model.
        model: String,
        /// The variable that `key_env` names.
        variable: String,
    },
    /// A provider's model needs a key.
    #[error("no API key for {model}: set ${variable}")]
    NoKey {
        /// The name of the model.
        model: String,
        /// The provider's variable.
        variable: &'static str,
    },
    /// No key is set for a model that neither the catalog nor the config knows.
    #[error(
        "unknown model {model:?}; describe it in the config, or give the address of its server. If \
         it is a model of OpenAI, set ${variable}"
    )]
    UnknownModel {
        /// The name of the model.
        model: String,
        /// The variable of the provider that would be asked.
        variable: &'static str,
    },
    /// A server does not list its models, and no model is configured.
    #[error("no model is configured, and {base} does not list its models")]
    NoModel {
        /// The server's address.
        base: String,
    },
    /// The configured `summariser` model cannot be used.
    #[error("cannot use the configured summariser")]
    Summariser(#[source] Box<ConfigError>),
    /// The configured encoder is not one that was added.
    #[error("recall.encoder is {name:?}, and no encoder of this name was added")]
    NoEncoder {
        /// The value of `recall.encoder`.
        name: String,
    },
    /// The configured encoder is a server, and its model is not set.
    #[error("recall.encoder is a server; set recall.model to the name of its embedding model")]
    NoEncoderModel,
    /// An address or a key is invalid.
    #[error(transparent)]
    Endpoint(#[from] CallError),
    /// The agent cannot be built with these settings.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The file of approved addresses cannot be written.
    #[error("cannot save the approved addresses in {path}")]
    Approvals {
        /// The file's path.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
}

/// Describes a number with a smallest value.
pub(crate) fn at_least(least: usize) -> Phrase {
    phrase!("allowed-at-least", "at least {least}", least = least)
}

/// Describes a whole number between 1 and a largest value.
pub(crate) fn whole_up_to(most: u64) -> Phrase {
    Allowed::Whole(1, i64::try_from(most).unwrap_or(i64::MAX)).phrase()
}

impl ConfigError {
    /// Reports a value outside its range.
    pub(crate) fn range(key: String, value: impl ToString, allowed: Phrase) -> Self {
        Self::Range { key, value: value.to_string(), allowed }
    }

    /// Returns the error and its causes as one text.
    #[cfg(test)]
    pub(crate) fn full_text(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        text
    }

    /// Adds the path of the file that the error is in.
    pub(crate) fn in_file(self, path: impl Into<PathBuf>) -> Self {
        Self::File { path: path.into(), source: Box::new(self) }
    }
}
