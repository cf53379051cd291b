//! The names a configuration may use in its list of middlewares: middlewares, settings and presets.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::AgentConfig;
use super::setting::{
    ContextEditing, FileSearch, HumanApproval, ModelFallback, ModelRetry, Setting, ShellTool,
    ToolRetry, ToolSelector,
};
use super::summarization::Summarization;
use crate::error::AgentError;
use crate::middleware::{CallLimit, Middleware, Pii, TodoList, ToolEmulator};
use waterline::phrase;

/// Adds a middleware or a setting to a configuration.
type Add = fn(&mut AgentConfig, &'static str, &Value) -> Result<(), AgentError>;

/// Every name with the function that adds it.
const LIST: &[(&str, Add)] = &[
    ("call_limit", middleware::<CallLimit>),
    ("summarization", setting::<Summarization>),
    ("context_editing", setting::<ContextEditing>),
    ("human_approval", setting::<HumanApproval>),
    ("model_fallback", setting::<ModelFallback>),
    ("model_retry", setting::<ModelRetry>),
    ("tool_retry", setting::<ToolRetry>),
    ("tool_selector", setting::<ToolSelector>),
    ("tool_emulator", middleware::<ToolEmulator>),
    ("pii", middleware::<Pii>),
    ("todo_list", middleware::<TodoList>),
    ("shell_tool", setting::<ShellTool>),
    ("file_search", setting::<FileSearch>),
];

/// Lists of middlewares for common needs.
pub const PRESETS: &[&str] = &["default", "minimal", "production", "development", "human-in-loop"];

impl AgentConfig {
    /// Adds a middleware or a setting by name, with its options. A setting takes effect
    /// when an agent is opened, or in [`apply_settings`](Self::apply_settings).
    ///
    /// # Errors
    /// When the name is unknown, or the options are invalid.
    pub fn add(&mut self, name: &str, options: &Value) -> Result<(), AgentError> {
        match LIST.iter().find(|(known, _)| *known == name) {
            Some((known, add)) => {
                add(self, known, options)?;
                self.named.push(known);
                Ok(())
            }
            None => {
                let names: Vec<&str> = LIST.iter().map(|(known, _)| *known).collect();
                Err(AgentError::Setting(phrase!(
                    "setting-no-middleware",
                    "unknown middleware {name:?}; expected one of {names}",
                    name = name,
                    names = names.join(", ")
                )))
            }
        }
    }
}

/// Returns the middlewares of a preset, each with its options.
///
/// # Errors
/// When the preset does not exist.
pub fn preset(name: &str) -> Result<Vec<(&'static str, Value)>, AgentError> {
    let none = || json!({});
    Ok(match name {
        "default" => vec![("todo_list", none()), ("human_approval", none())],
        "minimal" => Vec::new(),
        "production" => vec![
            ("call_limit", json!({"run": 100})),
            ("todo_list", none()),
            ("pii", none()),
            ("human_approval", none()),
            ("model_retry", none()),
            ("tool_retry", none()),
        ],
        "development" => vec![("todo_list", none()), ("human_approval", json!({"mode": "none"}))],
        "human-in-loop" => vec![("todo_list", none()), ("human_approval", json!({"mode": "all"}))],
        _ => {
            let names = PRESETS.join(", ");
            return Err(AgentError::Setting(phrase!(
                "setting-no-middleware-preset",
                "unknown middleware preset {name:?}; expected one of {names}",
                name = name,
                names = names
            )));
        }
    })
}

fn middleware<M: Middleware + DeserializeOwned + 'static>(
    config: &mut AgentConfig,
    name: &'static str,
    options: &Value,
) -> Result<(), AgentError> {
    let made: M = read(name, options)?;
    config.middleware.push(Arc::new(made));
    Ok(())
}

fn setting<S: Setting + DeserializeOwned + 'static>(
    config: &mut AgentConfig,
    name: &'static str,
    options: &Value,
) -> Result<(), AgentError> {
    let made: S = read(name, options)?;
    config.settings.push(Arc::new(made));
    Ok(())
}

fn read<T: DeserializeOwned>(name: &str, options: &Value) -> Result<T, AgentError> {
    let options = if options.is_null() { json!({}) } else { options.clone() };
    serde_json::from_value(options).map_err(|error| AgentError::InvalidSetting {
        place: phrase!("setting-middleware", "middleware {name}", name = name),
        cause: error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::config;

    #[test]
    fn every_name_can_be_added_and_an_unknown_one_is_rejected() {
        for &(name, _) in LIST {
            let options =
                if name == "model_fallback" { json!({"models": ["m"]}) } else { json!({}) };
            let mut config = config();
            config.add(name, &options).unwrap();
            assert_eq!(
                (config.named(), config.settings.len() + config.middleware.len()),
                (&[name][..], 1)
            );
            assert!(config.add(name, &json!({"nonsense": 1})).is_err(), "{name}");
        }
        for name in PRESETS {
            for (name, options) in preset(name).unwrap() {
                config().add(name, &options).unwrap();
            }
        }
        let error = config().add("pll", &Value::Null).unwrap_err().to_string();
        assert!(error.contains("pii"), "{error}");
    }
}
