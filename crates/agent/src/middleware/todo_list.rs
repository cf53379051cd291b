//! `todo_list`: what is still to be done is repeated to the model at the beginning of each turn. It
//! is said aside: it does not stay in the history.

use serde::Deserialize;

use super::{HookContext, Hooked, Middleware, Verdict};
use crate::state::{Status, Todo};

/// Repeats todos.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TodoList {}

impl Middleware for TodoList {
    fn name(&self) -> &'static str {
        "todo_list"
    }

    fn before_model(&self, context: &mut HookContext<'_>) -> Hooked {
        let open: Vec<String> = context
            .state
            .todos
            .iter()
            .filter(|todo| todo.status != Status::Completed)
            .map(Todo::line)
            .collect();
        if context.counters.steps == 0 && !open.is_empty() {
            context.asides.push(format!("[todos that are not done yet]\n{}", open.join("\n")));
        }
        Ok(Verdict::Ok)
    }
}
