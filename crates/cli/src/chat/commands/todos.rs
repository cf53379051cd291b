//! `/todos`.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["todos"],
    takes: "",
    about: ("what is to be done", "待办事项"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let todos = chat.relay.agent.state()?.todos;
    if todos.is_empty() {
        chat.screen.say(say("nothing is to be done", "没有待办事项"));
    }
    todos.iter().for_each(|todo| chat.screen.say(&todo.line()));
    Ok(Then::Stay)
}
