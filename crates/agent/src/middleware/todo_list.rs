//! `todo_list`: repeats the open tasks to the model at the start of each turn, as an ephemeral
//! message that does not stay in the history.

use serde::Deserialize;

use super::{HookContext, Hooked, Middleware, Verdict};
use crate::state::{Status, Todo};

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
            context.ephemeral.push(format!("[Open tasks:]\n{}", open.join("\n")));
        }
        Ok(Verdict::Ok)
    }
}
