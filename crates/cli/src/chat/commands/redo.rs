//! `/redo`: undoes the last `/undo`.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::{LogError, Refusal};

use super::{Next, Spec};
use crate::chat::{Chat, files};
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["redo"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let before = super::current::count(chat.runner.agent.live());
    let moved_from = files::begin(chat).await?;
    match chat.on_log(|log, id| Ok(log.redo(id))).await? {
        Ok(_) => {}
        Err(LogError::Refused(Refusal::NothingToRedo(_))) => {
            chat.screen.print_line(&text!("redo-nothing"));
            return Ok(Next::Prompt);
        }
        Err(error) => return Err(error.into()),
    }
    files::open_moved(chat, moved_from).await?;
    let after = super::current::count(chat.runner.agent.live());
    chat.screen.print_line(&text!("undo-count", before = before, after = after));
    files::follow(chat).await?;
    Ok(Next::Prompt)
}
