//! `todo_list`: what is still to be done is repeated to the model at the beginning of each turn. It is said aside: it does not
//! stay in the history.

use serde::Deserialize;

use super::{Hooked, Middleware, Moment, Verdict};
use crate::state::{Status, Todo};

/// Repeats todos.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TodoList {}

impl Middleware for TodoList {
    fn name(&self) -> &'static str {
        "todo_list"
    }

    fn before_model(&self, moment: &mut Moment<'_>) -> Hooked {
        let open: Vec<String> =
            moment.state.todos.iter().filter(|todo| todo.status != Status::Completed).map(Todo::line).collect();
        if moment.tally.steps == 0 && !open.is_empty() {
            moment.asides.push(format!("[todos that are not done yet]\n{}", open.join("\n")));
        }
        Ok(Verdict::Ok)
    }
}
