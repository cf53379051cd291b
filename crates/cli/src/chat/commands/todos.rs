//! `/todos`: shows the task list.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["todos"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let todos = chat.runner.agent.state()?.todos;
    if todos.is_empty() {
        chat.screen.print_line(&text!("todos-none"));
    }
    todos.iter().for_each(|todo| chat.screen.print_line(&todo.line()));
    Ok(Next::Prompt)
}
