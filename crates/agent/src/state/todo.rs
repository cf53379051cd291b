//! The tasks of the task list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The status of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not started.
    #[default]
    Pending,
    /// Being worked on. At most one task may have this status.
    InProgress,
    /// Finished.
    Completed,
}

/// The priority of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Do it first.
    High,
    /// Do it in order.
    #[default]
    Medium,
    /// Do it last.
    Low,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Todo {
    /// What to do, in one short sentence.
    pub content: String,
    /// The status of the task. Default: pending.
    #[serde(default)]
    pub status: Status,
    /// The priority of the task. Default: medium.
    #[serde(default)]
    pub priority: Priority,
}

impl Todo {
    /// Reads a task. A task in another program's format is read as far as possible, so that at
    /// least its text is kept.
    pub(super) fn read(value: &Value) -> Self {
        let content = || {
            let named = ["content", "title", "task"]
                .iter()
                .find_map(|name| value.get(*name).and_then(Value::as_str));
            named.or_else(|| value.as_str()).map_or_else(|| value.to_string(), str::to_owned)
        };
        let status =
            || value.get("status").and_then(|status| serde_json::from_value(status.clone()).ok());
        serde_json::from_value(value.clone()).unwrap_or_else(|_| Self {
            content: content(),
            status: status().unwrap_or_default(),
            priority: Priority::Medium,
        })
    }

    /// Returns the task as one line of the task list.
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

    /// Returns the line that folds keep.
    pub(super) fn note(&self) -> String {
        let status = match self.status {
            Status::Pending => "pending",
            Status::InProgress => "in progress",
            Status::Completed => "completed",
        };
        format!("task, {status}: {}", self.content)
    }
}
