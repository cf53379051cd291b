//! The middlewares by their names, and lists of them for common needs.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Middleware;
use crate::error::AgentError;

/// Makes a middleware from its name and its settings.
type Build = fn(&str, &Value) -> Result<Arc<dyn Middleware>, AgentError>;

/// Every middleware: its name, and how it is made.
const LIST: [(&str, Build); 13] = [
    ("call_limit", make::<super::call_limit::CallLimit>),
    ("summarization", make::<super::summarization::Summarization>),
    ("context_editing", make::<super::context_editing::ContextEditing>),
    ("human_approval", make::<super::human_approval::HumanApproval>),
    ("model_fallback", make::<super::model_fallback::ModelFallback>),
    ("model_retry", make::<super::model_retry::ModelRetry>),
    ("tool_retry", make::<super::tool_retry::ToolRetry>),
    ("tool_selector", make::<super::tool_selector::ToolSelector>),
    ("tool_emulator", make::<super::tool_emulator::ToolEmulator>),
    ("pii", make::<super::pii::Pii>),
    ("todo_list", make::<super::todo_list::TodoList>),
    ("shell_tool", make::<super::shell_tool::ShellTool>),
    ("file_search", make::<super::file_search::FileSearch>),
];

/// Lists of middlewares for common needs.
pub const PRESETS: [&str; 5] = ["default", "minimal", "production", "development", "human-in-loop"];

/// The middleware of a name, with its settings.
///
/// # Errors
/// When there is none, or the settings do not fit.
pub fn build(name: &str, settings: &Value) -> Result<Arc<dyn Middleware>, AgentError> {
    match LIST.iter().find(|(known, _)| *known == name) {
        Some((_, make)) => make(name, settings),
        None => {
            let names = LIST.map(|(known, _)| known).join(", ");
            Err(AgentError::Setting(format!("no middleware is called {name:?}; there are {names}")))
        }
    }
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

/// Makes a middleware of type `M` from its settings.
fn make<M: Middleware + DeserializeOwned + 'static>(
    name: &str,
    settings: &Value,
) -> Result<Arc<dyn Middleware>, AgentError> {
    let settings = if settings.is_null() { json!({}) } else { settings.clone() };
    let read: Result<M, _> = serde_json::from_value(settings);
    let made = read.map_err(|error| AgentError::Setting(format!("middleware {name}: {error}")))?;
    Ok(Arc::new(made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_can_be_built_and_a_wrong_one_is_refused_with_the_right_ones() {
        for (name, _) in LIST {
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
