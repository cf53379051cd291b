//! Where each value comes from, for programs that show settings.

use std::collections::BTreeMap;
use std::path::Path;

use waterline_agent::Limits;
use waterline_provider::address::bare;

use crate::agent::{COMMAND_TIMEOUT, DEFAULT_WORKSPACE_DAYS};
use crate::config;
use crate::environment::{self, Environment, KEY_VARIABLES, VariableOrigin};
use crate::error::ConfigError;
use crate::settings::PROJECT;

/// The origin of a value that nothing sets.
pub const BUILT_IN: &str = "built in";

/// Variables that set something, and what.
const VARIABLES: [(&str, &str); 8] = [
    ("WATERLINE_MODEL", "model"),
    ("WATERLINE_BASE_URL", "base_url"),
    ("WATERLINE_POLICY", "policy"),
    ("WATERLINE_LANG", "lang"),
    ("AGENT_MAX_STEPS", "agent.steps"),
    ("AGENT_MAX_CONTEXT_TOKENS", "agent_max_context_tokens"),
    ("AGENT_MAX_CONTEXT_TURNS", "agent_max_context_turns"),
    ("MAX_MESSAGE_HISTORY", "max_message_history"),
];

/// A value, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Value {
    /// Its key.
    pub key: String,
    /// The value; of a secret only that it is set.
    pub value: String,
    /// Where it comes from.
    pub origin: String,
}

impl Value {
    /// A value of a key, and where it comes from.
    pub fn new(key: impl Into<String>, value: impl Into<String>, origin: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), origin: origin.into() }
    }
}

/// Values and their origins, by key.
type Found = BTreeMap<String, (String, String)>;

/// The built-in values that are values and not rules.
fn built_in() -> Found {
    let values = [
        ("policy", "\"auto\"".to_owned()),
        ("agent.steps", Limits::default().steps.to_string()),
        ("agent.approval", "\"selective\"".to_owned()),
        ("agent.approval_timeout", "60".to_owned()),
        ("agent.middleware", "\"default\"".to_owned()),
        ("agent.network", "false".to_owned()),
        ("agent.command_timeout", COMMAND_TIMEOUT.to_string()),
        ("agent.workspace_days", DEFAULT_WORKSPACE_DAYS.to_string()),
    ];
    values.into_iter().map(|(key, value)| (key.to_owned(), (value, BUILT_IN.to_owned()))).collect()
}

/// Every value that is set, by its key.
///
/// # Errors
/// When a file cannot be used.
pub fn values(environment: &Environment) -> Result<Vec<Value>, ConfigError> {
    let mut found = built_in();
    for path in config::files(environment) {
        if path.is_file() {
            let before = found.clone();
            add_file(&path, environment, &mut found)?;
            if path == environment.at(PROJECT) {
                narrow(&before, &mut found);
            }
        }
    }
    let of_files = found.clone();
    for (name, key) in VARIABLES {
        if let Some((value, origin)) = environment.find(name) {
            let value = if is_address(key) { bare(&value) } else { value };
            found.insert(key.to_owned(), (value, variable_origin(name, origin)));
        }
    }
    if environment.is_of_file("AGENT_MAX_STEPS") {
        narrow(&of_files, &mut found);
    }
    // A key's value is never shown.
    for name in KEY_VARIABLES {
        if let Some((_, origin)) = environment.find(name) {
            found.insert(format!("key {name}"), ("(set)".to_owned(), variable_origin(name, origin)));
        }
    }
    Ok(found.into_iter().map(|(key, (value, origin))| Value { key, value, origin }).collect())
}

/// Restores limits that a file that came with the directory cannot raise.
fn narrow(before: &Found, found: &mut Found) {
    let number = |value: &(String, String)| value.0.trim().parse::<u64>().ok();
    for key in ["agent.steps", "agent.command_timeout", "agent.iterations", "agent.time"] {
        let (Some(allowed), Some(wanted)) = (before.get(key), found.get(key)) else { continue };
        if number(wanted) > number(allowed) {
            found.insert(key.to_owned(), allowed.clone());
        }
    }
}

fn variable_origin(name: &str, origin: VariableOrigin) -> String {
    match origin {
        VariableOrigin::Process => format!("${name}"),
        VariableOrigin::File => format!("{} ({name})", environment::FILE),
    }
}

fn add_file(path: &Path, environment: &Environment, found: &mut Found) -> Result<(), ConfigError> {
    let text = config::read(path, environment)?;
    let table: toml::Table = toml::from_str(&text).map_err(|error| ConfigError::from(error).in_file(path))?;
    let mut flat = Vec::new();
    flatten("", &toml::Value::Table(table), &mut flat);
    for (key, value) in flat {
        let shown = shown(&key, &value);
        found.insert(key, (shown, path.display().to_string()));
    }
    Ok(())
}

/// A value of a file, without possible secrets.
fn shown(key: &str, value: &toml::Value) -> String {
    // Arguments and variables of a server may be secrets.
    let is_secret = key.starts_with("mcp.") && (key.contains(".env.") || key.ends_with(".args"));
    match value {
        _ if is_secret => "(set)".to_owned(),
        toml::Value::String(url) if is_address(key) => toml::Value::String(bare(url)).to_string(),
        value => value.to_string(),
    }
}

/// An address may hold a name and a password, and a token in its query.
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
