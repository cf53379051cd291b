//! `/checkpoints`: lists the checkpoints of the session.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::Log;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::checkpoints::line;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["checkpoints"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let read = |log: &Log, id: &str| Ok((log.checkpoints(id)?, log.numbering(&log.session(id)?)?));
    let (checkpoints, numbering) = chat.on_log(read).await?;
    if checkpoints.is_empty() {
        chat.screen.print_line(&text!("checkpoints-none"));
    }
    for checkpoint in &checkpoints {
        chat.screen.print_line(&line(checkpoint, &numbering));
    }
    Ok(Next::Prompt)
}
