//! Todos: what is to be done, and how far it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How far a todo is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    #[default]
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}

/// How much it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Soon.
    High,
    /// In its turn.
    #[default]
    Medium,
    /// When there is time.
    Low,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Todo {
    /// What.
    pub content: String,
    /// How far it is.
    #[serde(default)]
    pub status: Status,
    /// How much it matters.
    #[serde(default)]
    pub priority: Priority,
}

impl Todo {
    /// Reads a todo. One that another program wrote in a form of its own is read as far as it can
    /// be: its words count.
    pub(super) fn read(value: &Value) -> Self {
        let words = || {
            let named = ["content", "title", "task"]
                .iter()
                .find_map(|name| value.get(*name).and_then(Value::as_str));
            named.or_else(|| value.as_str()).map_or_else(|| value.to_string(), str::to_owned)
        };
        let status =
            || value.get("status").and_then(|status| serde_json::from_value(status.clone()).ok());
        serde_json::from_value(value.clone()).unwrap_or_else(|_| Self {
            content: words(),
            status: status().unwrap_or_default(),
            priority: Priority::Medium,
        })
    }

    /// One line about it.
    #[must_use]
    pub fn line(&self) -> String {
        let mark = match self.status {
            Status::Pending => "[ ]",
            Status::InProgress => "[>]",
            Status::Completed => "[x]",
        };
        let priority = match self.priority {
            Priority::High => " (high)",
            Priority::Medium => "",
            Priority::Low => " (low)",
        };
        format!("{mark} {}{priority}", self.content)
    }

    /// What a note says about it.
    pub(super) fn note(&self) -> String {
        let status = match self.status {
            Status::Pending => "pending",
            Status::InProgress => "in progress",
            Status::Completed => "completed",
        };
        format!("todo, {status}: {}", self.content)
    }
}
