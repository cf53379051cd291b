//! `todo_write` and `todo_read`: what is to be done, as the state of the session. At most one thing
//! is in progress.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Capability, Effect, Failure, Output, Tool, ToolContext};
use crate::state::{Status, Todo};

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
    /// All todos, in their order: this list replaces the one there was. At most one may be in
    /// progress.
    todos: Vec<Todo>,
}

impl Tool for TodoWrite {
    type Arguments = Arguments;
    const NAME: &'static str = "todo_write";
    const ABOUT: &'static str = "Write down what is to be done and how far it is. Use it for work of several steps, and keep it up to date.";
    const CAPABILITY: Capability = Capability::Write;

    /// The list is shown by itself.
    fn summary(_: &Value) -> String {
        String::new()
    }

    async fn run(&self, arguments: Arguments, _: &ToolContext) -> Result<Output, Failure> {
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
    const CAPABILITY: Capability = Capability::Read;

    async fn run(&self, _: Nothing, context: &ToolContext) -> Result<Output, Failure> {
        Ok(Output::text(lines(&context.state.todos)))
    }
}
