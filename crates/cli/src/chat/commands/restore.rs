//! `/restore`: restores the messages and the state of a checkpoint.

use anyhow::{Result, bail};
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::{Chat, files};
use crate::checkpoints::restore;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["restore"],
    takes: "N",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    if rest.is_empty() {
        chat.screen.print_line(&SPEC.usage());
        return Ok(Next::Prompt);
    }
    let before = super::current::count(chat.runner.agent.live());
    let moved_from = files::begin(chat).await?;
    let wanted = rest.to_owned();
    if chat.on_log(move |log, id| restore(log, id, &wanted)).await?.is_none() {
        bail!(text!("checkpoint-unknown", id = rest));
    }
    files::open_moved(chat, moved_from).await?;
    let after = super::current::count(chat.runner.agent.live());
    chat.screen.print_line(&text!("undo-count", before = before, after = after));
    files::follow(chat).await?;
    chat.screen.print_note(&text!("undo-note"));
    Ok(Next::Prompt)
}
