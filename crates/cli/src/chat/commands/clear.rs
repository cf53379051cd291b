//! `/clear`: starts with an empty context.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["clear"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    chat.on_log(|log, id| log.clear(id)).await?;
    chat.reopen().await?;
    chat.screen.print_line(&text!("clear-done"));
    Ok(Next::Prompt)
}
