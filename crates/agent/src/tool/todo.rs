//! `todo_write` and `todo_read`: the session's task list. At most one task is in progress.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Capability, Effect, Failure, Output, Tool, ToolContext};
use crate::state::{Status, Todo};

/// Returns the task list, one line per task.
#[must_use]
pub(crate) fn lines(todos: &[Todo]) -> String {
    if todos.is_empty() {
        return "[the task list is empty]".to_owned();
    }
    todos.iter().map(Todo::line).collect::<Vec<_>>().join("\n")
}

#[derive(Debug)]
pub(super) struct TodoWrite;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The complete task list, in order. It replaces the previous list. At most one task may be
    /// in progress.
    todos: Vec<Todo>,
}

impl Tool for TodoWrite {
    type Arguments = Arguments;
    const NAME: &'static str = "todo_write";
    const ABOUT: &'static str = "\
        Create or update the task list, which the user can see. Use it for work with several \
        steps: mark a task in progress before you start it and completed as soon as it is done. \
        Returns the new list.";
    const CAPABILITY: Capability = Capability::Write;

    /// Empty: the list itself is displayed.
    fn summary(_: &Value) -> String {
        String::new()
    }

    async fn run(&self, arguments: Arguments, _: &ToolContext) -> Result<Output, Failure> {
        let todos = arguments.todos;
        let in_progress = todos.iter().filter(|todo| todo.status == Status::InProgress).count();
        if in_progress > 1 {
            return Err(Failure::new(format!(
                "{in_progress} tasks are in progress; at most one may be in progress."
            )));
        }
        if todos.iter().any(|todo| todo.content.trim().is_empty()) {
            return Err(Failure::new("`content` of a task must not be empty."));
        }
        Ok(Output::text(lines(&todos)).with(Effect::Todos(todos)))
    }
}

#[derive(Debug)]
pub(super) struct TodoRead;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct NoArguments {}

impl Tool for TodoRead {
    type Arguments = NoArguments;
    const NAME: &'static str = "todo_read";
    const ABOUT: &'static str = "Return the current task list with the status of each task.";
    const CAPABILITY: Capability = Capability::Read;

    async fn run(&self, _: NoArguments, context: &ToolContext) -> Result<Output, Failure> {
        Ok(Output::text(lines(&context.state.todos)))
    }
}
