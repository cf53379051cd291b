//! `/checkpoints`: lists the checkpoints of the session.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::checkpoints::line;

pub(super) const SPEC: Spec = Spec {
    names: &["checkpoints"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    for checkpoint in chat.on_log(|log, id| log.checkpoints(id)).await? {
        chat.screen.print_line(&line(&checkpoint));
    }
    Ok(Next::Prompt)
}
