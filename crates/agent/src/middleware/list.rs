//! The middlewares by their names, and lists of them for common needs.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Middleware;
use super::call_limit::CallLimit;
use super::context_editing::ContextEditing;
use super::file_search::FileSearch;
use super::human_approval::HumanApproval;
use super::model_fallback::ModelFallback;
use super::model_retry::ModelRetry;
use super::pii::Pii;
use super::shell_tool::ShellTool;
use super::summarization::Summarization;
use super::todo_list::TodoList;
use super::tool_emulator::ToolEmulator;
use super::tool_retry::ToolRetry;
use super::tool_selector::ToolSelector;
use crate::error::AgentError;

/// Every middleware.
pub const NAMES: [&str; 13] = [
    "call_limit",
    "summarization",
    "context_editing",
    "human_approval",
    "model_fallback",
    "model_retry",
    "tool_retry",
    "tool_selector",
    "tool_emulator",
    "pii",
    "todo_list",
    "shell_tool",
    "file_search",
];

/// Lists of middlewares for common needs.
pub const PRESETS: [&str; 5] = ["default", "minimal", "production", "development", "human-in-loop"];

/// The middleware of a name, with its settings.
///
/// # Errors
/// When there is none, or the settings do not fit.
pub fn build(name: &str, settings: &Value) -> Result<Arc<dyn Middleware>, AgentError> {
    Ok(match name {
        "call_limit" => Arc::new(read::<CallLimit>(name, settings)?),
        "summarization" => Arc::new(read::<Summarization>(name, settings)?),
        "context_editing" => Arc::new(read::<ContextEditing>(name, settings)?),
        "human_approval" => Arc::new(read::<HumanApproval>(name, settings)?),
        "model_fallback" => Arc::new(read::<ModelFallback>(name, settings)?),
        "model_retry" => Arc::new(read::<ModelRetry>(name, settings)?),
        "tool_retry" => Arc::new(read::<ToolRetry>(name, settings)?),
        "tool_selector" => Arc::new(read::<ToolSelector>(name, settings)?),
        "tool_emulator" => Arc::new(read::<ToolEmulator>(name, settings)?),
        "pii" => Arc::new(read::<Pii>(name, settings)?),
        "todo_list" => Arc::new(read::<TodoList>(name, settings)?),
        "shell_tool" => Arc::new(read::<ShellTool>(name, settings)?),
        "file_search" => Arc::new(read::<FileSearch>(name, settings)?),
        _ => {
            let names = NAMES.join(", ");
            return Err(AgentError::Setting(format!("no middleware is called {name:?}; there are {names}")));
        }
    })
}

/// The middlewares of a preset, each with its settings.
///
/// # Errors
/// When there is no such preset.
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
            return Err(AgentError::Setting(format!("no list of middlewares is called {name:?}; there are {names}")));
        }
    })
}

fn read<T: DeserializeOwned>(name: &str, settings: &Value) -> Result<T, AgentError> {
    let settings = if settings.is_null() { json!({}) } else { settings.clone() };
    serde_json::from_value(settings).map_err(|error| AgentError::Setting(format!("middleware {name}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_can_be_built_and_a_wrong_one_is_refused_with_the_right_ones() {
        for name in NAMES {
            let settings = if name == "model_fallback" { json!({"models": ["m"]}) } else { json!({}) };
            assert_eq!(build(name, &settings).map(|built| built.name()).unwrap(), name);
            assert!(build(name, &json!({"nonsense": 1})).is_err(), "{name}");
        }
        for name in PRESETS {
            for (name, settings) in preset(name).unwrap() {
                build(name, &settings).unwrap();
            }
        }
        let error = build("pll", &Value::Null).err().unwrap().to_string();
        assert!(error.contains("pii"), "{error}");
    }
}
