//! `/redo`.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::LogError;

use super::undo::moved;
use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["redo"],
    takes: "",
    about: (
        "take the last /undo or /rewind back; again, the one before it",
        "恢复上次撤销或回退；可多次恢复",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let before = chat.session().tip.position();
    let after = match chat.on_log(|log, id| Ok(log.redo(id))).await? {
        Ok(session) => session.tip.position(),
        Err(LogError::Refused(_)) => {
            chat.screen.say(say("nothing was taken back here", "此处没有可恢复的撤销"));
            return Ok(Then::Stay);
        }
        Err(error) => return Err(error.into()),
    };
    chat.reopen().await?;
    chat.screen.say(&moved(before, after));
    Ok(Then::Stay)
}
