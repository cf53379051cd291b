//! `/steer`: sends a message, as steering if a turn is running.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["steer"],
    takes: "TEXT",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    if rest.is_empty() {
        chat.screen.print_line(&text!("steer-empty"));
        return Ok(Next::Prompt);
    }
    Ok(Next::Send(rest.to_owned()))
}
