//! `todo_write` and `todo_read`: what is to be done, as the state of the session. At most one thing is in progress.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waterline_log::State;

use super::{Effect, Failure, Nature, Output, Scene, Tool};

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
    /// The todos of a session. One that somebody else wrote in another form is read as far as it can be.
    #[must_use]
    pub fn of(state: &State) -> Vec<Self> {
        let read = |value: &serde_json::Value| {
            serde_json::from_value(value.clone()).unwrap_or_else(|_| Self {
                content: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
                status: Status::Pending,
                priority: Priority::Medium,
            })
        };
        state.todos.iter().map(read).collect()
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
}

/// The list as lines.
#[must_use]
pub(crate) fn lines(todos: &[Todo]) -> String {
    if todos.is_empty() {
        return "[there are no todos]".to_owned();
    }
    todos.iter().map(Todo::line).collect::<Vec<_>>().join("\n")
}

/// Writes the todos.
#[derive(Debug)]
pub(super) struct TodoWrite;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// All todos, in their order: this list replaces the one there was. At most one may be in progress.
    todos: Vec<Todo>,
}

impl Tool for TodoWrite {
    type Arguments = Arguments;
    const NAME: &'static str = "todo_write";
    const ABOUT: &'static str =
        "Write down what is to be done and how far it is. Use it for work of several steps, and keep it up to date.";
    const NATURE: Nature = Nature::Writes;

    async fn run(&self, arguments: Arguments, _: &Scene) -> Result<Output, Failure> {
        let todos = arguments.todos;
        let begun = todos.iter().filter(|todo| todo.status == Status::InProgress).count();
        if begun > 1 {
            return Err(Failure::new(format!("{begun} todos are in progress; at most one may be")));
        }
        if todos.iter().any(|todo| todo.content.trim().is_empty()) {
            return Err(Failure::new("a todo says nothing"));
        }
        Ok(Output::text(lines(&todos)).with(Effect::Todos(todos)))
    }
}

/// Reads the todos.
#[derive(Debug)]
pub(super) struct TodoRead;

/// What it is called with: nothing.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Nothing {}

impl Tool for TodoRead {
    type Arguments = Nothing;
    const NAME: &'static str = "todo_read";
    const ABOUT: &'static str = "Read what is to be done and how far it is.";
    const NATURE: Nature = Nature::Reads;

    async fn run(&self, _: Nothing, scene: &Scene) -> Result<Output, Failure> {
        Ok(Output::text(lines(&Todo::of(&scene.session.state))))
    }
}
