//! `/reset`.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::Start;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["reset", "new"],
    takes: "",
    about: ("begin a new session", "开始新会话"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    chat.open_new(Start::New).await?;
    chat.screen.say(&format!("{} {}", say("new session", "新会话"), chat.session().id));
    Ok(Then::Stay)
}
