//! `/redo`: undoes the last `/undo` or `/rewind`.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::LogError;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["redo"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let before = chat.session().tip.position();
    let after = match chat.on_log(|log, id| Ok(log.redo(id))).await? {
        Ok(session) => session.tip.position(),
        Err(LogError::Refused(_)) => {
            chat.screen.print_line(&text!("redo-nothing"));
            return Ok(Next::Prompt);
        }
        Err(error) => return Err(error.into()),
    };
    chat.reopen().await?;
    chat.screen.print_line(&text!("undo-count", before = before, after = after));
    Ok(Next::Prompt)
}
