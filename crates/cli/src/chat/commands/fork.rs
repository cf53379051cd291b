//! `/fork`.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::Start;

use super::{Spec, Then};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["fork"],
    takes: "[N]",
    about: (
        "go on in a copy, from here or from after message N",
        "从此处或第 N 条消息后复制会话并继续",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let at = rest.parse::<u64>().ok();
    let made = chat.open_new(Start::Fork { of: chat.session().id.clone(), at }).await?;
    chat.screen.say(&text!("fork-done", id = made.id, position = made.tip.position()));
    Ok(Then::Stay)
}
