//! The origin of each value, for programs that show settings.

use std::collections::BTreeMap;
use std::path::Path;

use waterline_agent::{DEFAULT_POLICY, Limits};
use waterline_log::Options;
use waterline_provider::address::bare;
use waterline_provider::http::Timeouts;

use crate::agent::COMMAND_TIMEOUT;
use crate::environment::{self, Environment, VariableOrigin, key_variables};
use crate::error::ConfigError;
use crate::notice::Notice;
use crate::recall;
use crate::seed::{self, ALIASES, SEEDS, Seed};

/// The origin of a default value.
pub const BUILT_IN: &str = "built in";

/// The origin of what the only user of a log prefers; ` of NAME` follows for a user with a name.
pub const PREFERENCE: &str = "preference";

/// The origin of what a session prefers.
pub const SESSION_PREFERENCE: &str = "preference of the session";

/// Environment variables of this program, and the keys they set.
const VARIABLES: [(&str, &str); 4] = [
    ("WATERLINE_MODEL", "model"),
    ("WATERLINE_BASE_URL", "base_url"),
    ("WATERLINE_POLICY", "policy"),
    ("WATERLINE_LANG", "lang"),
];

/// Returns every variable that sets something, and its key.
fn variables() -> impl Iterator<Item = (&'static str, String)> {
    let own = VARIABLES.iter().map(|(name, key)| (*name, (*key).to_owned()));
    let seeds = SEEDS.iter().map(|seed| (seed.variable, seed.variable.to_lowercase()));
    let aliases = ALIASES.iter().map(|(name, section, key)| {
        (*name, section.map_or((*key).to_owned(), |section| format!("{section}.{key}")))
    });
    own.chain(seeds).chain(aliases)
}

/// A value and its origin.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Value {
    /// The key, such as `agent.steps`.
    pub key: String,
    /// The value; `(set)` for a secret.
    pub value: String,
    /// A file, a variable, or [`BUILT_IN`].
    pub origin: String,
}

impl Value {
    /// Creates a value with its key and its origin.
    pub fn new(
        key: impl Into<String>,
        value: impl Into<String>,
        origin: impl Into<String>,
    ) -> Self {
        Self { key: key.into(), value: value.into(), origin: origin.into() }
    }
}

/// The values in force and their origins, by key. Filled while settings are merged.
#[derive(Clone, Debug)]
pub(crate) struct Origins(BTreeMap<String, (String, String)>);

impl Origins {
    /// Adds a preference. `whose` is its origin.
    pub(crate) fn add_preference(&mut self, whose: &str, name: &str, value: &str) {
        self.0.insert(name.to_owned(), (value.to_owned(), whose.to_owned()));
    }

    /// Returns the defaults that are plain values. Others, such as the model, depend on a rule.
    pub(crate) fn built_in() -> Self {
        let log = Options::default();
        let values = [
            ("policy", "\"auto\"".to_owned()),
            ("silence_timeout", Timeouts::default().silence.as_secs().to_string()),
            ("recall.encoder_timeout", recall::TIMEOUT.to_string()),
            ("log.connections", log.connections.to_string()),
            ("log.queue", log.queue.to_string()),
            ("log.cache", log.cache.to_string()),
            ("agent.steps", Limits::default().steps_under(DEFAULT_POLICY).to_string()),
            ("agent.approval", "\"selective\"".to_owned()),
            ("agent.middleware", "\"default\"".to_owned()),
            ("agent.network", "false".to_owned()),
            ("agent.command_timeout", COMMAND_TIMEOUT.to_string()),
        ];
        Self(
            values
                .into_iter()
                .map(|(key, value)| (key.to_owned(), (value, BUILT_IN.to_owned())))
                .collect(),
        )
    }

    /// Adds the values of a file, except those that were lowered to the limit in force.
    pub(crate) fn add_file(
        &mut self,
        text: &str,
        path: &Path,
        notices: &[Notice],
    ) -> Result<(), ConfigError> {
        let mut table: toml::Table = toml::from_str(text)?;
        seed::rename(&mut table);
        recall::rename(&mut table);
        let mut flat = Vec::new();
        flatten("", &toml::Value::Table(table), &mut flat);
        for (key, value) in flat.into_iter().filter(|(key, _)| !is_lowered(key, notices)) {
            let shown = shown(&key, &value);
            let key = Seed::named(&key).map_or(key, |seed| seed.variable.to_lowercase());
            self.0.insert(key, (shown, path.display().to_string()));
        }
        Ok(())
    }

    /// Adds the values of variables, except those that were lowered to the limit in force.
    pub(crate) fn add_variables(&mut self, environment: &Environment, notices: &[Notice]) {
        for (name, key) in variables() {
            let found = environment.find(name).filter(|(_, origin)| {
                *origin == VariableOrigin::Process || !is_lowered(&key, notices)
            });
            if let Some((value, origin)) = found {
                let value = if is_address(&key) { bare(&value) } else { value };
                self.0.insert(key, (value, variable_origin(name, origin)));
            }
        }
        // A key's value is never shown.
        for name in key_variables() {
            if let Some((_, origin)) = environment.find(name) {
                self.0.insert(
                    format!("key {name}"),
                    ("(set)".to_owned(), variable_origin(name, origin)),
                );
            }
        }
    }

    /// Returns all values, sorted by key.
    pub(crate) fn values(&self) -> Vec<Value> {
        self.0.iter().map(|(key, (value, origin))| Value::new(key, value, origin)).collect()
    }
}

/// Returns whether a value was above the user's limit.
fn is_lowered(key: &str, notices: &[Notice]) -> bool {
    notices
        .iter()
        .any(|notice| matches!(notice, Notice::Narrowed { key: lowered, .. } if lowered == key))
}

fn variable_origin(name: &str, origin: VariableOrigin) -> String {
    match origin {
        VariableOrigin::Process => format!("${name}"),
        VariableOrigin::File => format!("{} ({name})", environment::FILE),
    }
}

/// Formats a value of a file, without possible secrets.
fn shown(key: &str, value: &toml::Value) -> String {
    // Arguments and variables of a server may be secrets.
    let is_secret = key.starts_with("mcp.") && (key.contains(".env.") || key.ends_with(".args"));
    match value {
        _ if is_secret => "(set)".to_owned(),
        toml::Value::String(url) if is_address(key) || url.contains("://") => {
            toml::Value::String(bare(url)).to_string()
        }
        value => value.to_string(),
    }
}

/// Returns whether a key holds a URL, which may contain a password or a token.
fn is_address(key: &str) -> bool {
    key.ends_with("url")
}

fn flatten(at: &str, value: &toml::Value, into: &mut Vec<(String, toml::Value)>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let key = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                flatten(&key, value, into);
            }
        }
        other => into.push((at.to_owned(), other.clone())),
    }
}
