//! `/fork`: continues in a copy of the session.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::Start;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["fork"],
    takes: "[N]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let at = rest.parse::<u64>().ok();
    let made = chat.open_new(Start::Fork { of: chat.session().id.clone(), at }).await?;
    chat.screen.print_line(&text!("fork-done", id = made.id, position = made.tip.position()));
    Ok(Next::Prompt)
}
