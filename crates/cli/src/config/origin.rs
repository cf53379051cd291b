//! Where each value comes from: for `waterline config show`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use waterline_provider::address::bare;

use crate::environment;
use crate::workspace::WORKSPACE_DAYS;

/// Variables that set something, and what.
pub const VARIABLES: [(&str, &str); 8] = [
    ("WATERLINE_MODEL", "model"),
    ("WATERLINE_BASE_URL", "base_url"),
    ("WATERLINE_POLICY", "policy"),
    ("WATERLINE_LANG", "lang"),
    ("AGENT_MAX_STEPS", "agent.steps"),
    ("AGENT_MAX_CONTEXT_TOKENS", "agent_max_context_tokens"),
    ("AGENT_MAX_CONTEXT_TURNS", "agent_max_context_turns"),
    ("MAX_MESSAGE_HISTORY", "max_message_history"),
];

/// What is built in, as far as it is a value and no rule.
const BUILT_IN: [(&str, &str); 7] = [
    ("policy", "\"auto\""),
    ("agent.steps", "15"),
    ("agent.approval", "\"selective\""),
    ("agent.approval_timeout", "60"),
    ("agent.middleware", "\"default\""),
    ("agent.network", "false"),
    ("agent.command_timeout", "120"),
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

/// Every value that is set, by its key.
pub fn values() -> Result<Vec<Value>> {
    let mut found: BTreeMap<String, (String, String)> = BTreeMap::new();
    let built_in = |value: String| (value, "built in".to_owned());
    for (key, value) in BUILT_IN {
        found.insert(key.to_owned(), built_in(value.to_owned()));
    }
    found.insert("agent.workspace_days".to_owned(), built_in(WORKSPACE_DAYS.to_string()));
    for path in super::files() {
        if path.is_file() {
            let before = found.clone();
            of_file(&path, &mut found)?;
            if path == Path::new(super::PROJECT) {
                narrow(&before, &mut found);
            }
        }
    }
    let of_files = found.clone();
    for (name, key) in VARIABLES {
        if let Some((value, origin)) = environment::find(name) {
            let value = if is_address(key) { bare(&value) } else { value };
            found.insert(key.to_owned(), (value, said(name, origin)));
        }
    }
    if environment::is_of_file("AGENT_MAX_STEPS") {
        narrow(&of_files, &mut found);
    }
    // What a key is, is never shown.
    for name in environment::keys() {
        if let Some((_, origin)) = environment::find(name) {
            found.insert(format!("key {name}"), ("(set)".to_owned(), said(name, origin)));
        }
    }
    Ok(found.into_iter().map(|(key, (value, origin))| Value { key, value, origin }).collect())
}

/// Limits that what comes with a folder can lower and cannot raise: the value that holds stays, with where it comes from.
fn narrow(before: &BTreeMap<String, (String, String)>, found: &mut BTreeMap<String, (String, String)>) {
    let number = |value: &(String, String)| value.0.trim().parse::<u64>().ok();
    for key in ["agent.steps", "agent.command_timeout", "agent.iterations", "agent.time"] {
        let (Some(allowed), Some(wanted)) = (before.get(key), found.get(key)) else { continue };
        if number(wanted) > number(allowed) {
            found.insert(key.to_owned(), allowed.clone());
        }
    }
}

fn said(name: &str, origin: environment::Origin) -> String {
    match origin {
        environment::Origin::Process => format!("${name}"),
        environment::Origin::File => format!("{} ({name})", environment::FILE),
    }
}

fn of_file(path: &Path, found: &mut BTreeMap<String, (String, String)>) -> Result<()> {
    let text = super::text_of(path)?;
    let table: toml::Table = toml::from_str(&text).with_context(|| format!("{} cannot be used", path.display()))?;
    let mut flat = Vec::new();
    flatten("", &toml::Value::Table(table), &mut flat);
    for (key, value) in flat {
        let shown = shown(&key, &value);
        found.insert(key, (shown, path.display().to_string()));
    }
    Ok(())
}

/// A value of a file, without what may be secret in it.
fn shown(key: &str, value: &toml::Value) -> String {
    // What a server is given in its environment may be a secret.
    let is_secret = key.starts_with("mcp.") && (key.contains(".env.") || key.ends_with(".args"));
    match value {
        _ if is_secret => "(set)".to_owned(),
        toml::Value::String(url) if is_address(key) => toml::Value::String(bare(url)).to_string(),
        value => value.to_string(),
    }
}

/// A name and a password may stand in an address, and a token behind its question mark.
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
