//! `/reset`: starts a new session.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::Start;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["reset", "new"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    chat.open_new(Start::New).await?;
    chat.screen.print_line(&text!("reset-done", id = &chat.session().id));
    Ok(Next::Prompt)
}
