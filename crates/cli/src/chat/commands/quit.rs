//! `/quit`: ends the conversation; the session is kept.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["quit", "exit"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    chat.runner.agent.finish().await?;
    Ok(Next::Quit)
}
