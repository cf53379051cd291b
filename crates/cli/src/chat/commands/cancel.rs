//! `/cancel`: cancels a pending question or approval.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["cancel"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let cancelled = chat.runner.agent.cancel().await?;
    let text = if cancelled { text!("cancel-done") } else { text!("cancel-nothing") };
    chat.screen.print_line(&text);
    Ok(Next::Prompt)
}
