//! Why settings cannot be used. Each kind carries the facts; the program that shows it adds what to
//! do there.

use std::path::PathBuf;

use waterline::policy::PolicyError;
use waterline_agent::AgentError;
use waterline_provider::CallError;

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// A file is not TOML, or has a key that does not exist.
    #[error(transparent)]
    Syntax(#[from] toml::de::Error),
    /// A file has a value that cannot be used.
    #[error("{path} cannot be used")]
    File {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: Box<ConfigError>,
    },
    /// A JSON file is not a table of settings.
    #[error("not a JSON object of settings: {0}")]
    Json(#[from] serde_json::Error),
    /// A JSON file has a value that settings cannot have.
    #[error(transparent)]
    Value(#[from] toml::ser::Error),
    /// A value is outside its range.
    #[error("{key} is {value}; it must be {allowed}")]
    Range {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// An MCP server has both a command and an address, or neither.
    #[error("mcp.{0} must have either a command or a url")]
    Server(String),
    /// A project's file sets what only the user may set.
    #[error("{file} sets {key}, which {why}; that belongs in the user's config")]
    Project {
        /// The file.
        file: &'static str,
        /// The key.
        key: String,
        /// Why a project may not.
        why: &'static str,
    },
    /// A variable has a value that cannot be used.
    #[error("{name} is {value}, which cannot be used: {why}")]
    Variable {
        /// The variable.
        name: String,
        /// Its value.
        value: String,
        /// Why not.
        why: String,
    },
    /// A variable that sets keys of a policy has a value that they cannot have.
    #[error("{name} is {value}")]
    SeedVariable {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// Why not.
        source: PolicyError,
    },
    /// A path begins with `~/` and there is no home directory.
    #[error("{0} is in the home directory, and HOME is not set; write the whole path")]
    NoHome(PathBuf),
    /// There is no directory for the program's data.
    #[error("there is no data directory, because HOME is not set")]
    NoDataDirectory,
    /// A policy file cannot be read.
    #[error("the policy {name} cannot be used")]
    PolicyFile {
        /// The file.
        name: String,
        /// Why.
        source: std::io::Error,
    },
    /// A policy file does not hold a policy.
    #[error("{name}")]
    PolicyText {
        /// The file.
        name: String,
        /// Why.
        source: PolicyError,
    },
    /// There is no such policy, or a key does not fit.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The file with a key cannot be read.
    #[error("cannot read the key file {path}")]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The variable that should hold a model's key is not set.
    #[error("the key of {model} should be in ${variable}, which is not set")]
    KeyVariable {
        /// The model.
        model: String,
        /// The variable.
        variable: String,
    },
    /// A provider's model needs a key.
    #[error("{model} needs a key in ${variable}")]
    NoKey {
        /// The model.
        model: String,
        /// The provider's variable.
        variable: &'static str,
    },
    /// A server does not say which models it has, and none is named.
    #[error("{base} does not say which models it has")]
    NoModel {
        /// The server's address.
        base: String,
    },
    /// The model that should write summaries cannot be used.
    #[error("the summariser of the config cannot be used")]
    Summariser(#[source] Box<ConfigError>),
    /// An address or a key cannot be used.
    #[error(transparent)]
    Endpoint(#[from] CallError),
    /// The agent cannot be made with these settings.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The file of approved addresses cannot be written.
    #[error("cannot write {path}")]
    Approvals {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl ConfigError {
    /// A value outside its range.
    pub(crate) fn range(key: String, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self::Range { key, value: value.to_string(), allowed: allowed.into() }
    }

    /// The error with its causes, for texts that hold no source of their own.
    #[must_use]
    pub fn full_text(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        text
    }

    /// The same error, in a file.
    pub(crate) fn in_file(self, path: impl Into<PathBuf>) -> Self {
        Self::File { path: path.into(), source: Box::new(self) }
    }
}
