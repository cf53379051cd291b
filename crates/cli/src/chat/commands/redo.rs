//! `/redo`.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["redo"],
    takes: "",
    about: ("take back the last /undo or /rewind", "恢复上次撤销或回退"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let before = chat.session().tip.position();
    let after = chat.on_log(|log, id| log.forward(id, None)).await?;
    chat.reopen().await?;
    chat.screen.say(&format!("{before} → {} {}", after.tip.position(), say("messages", "条消息")));
    Ok(Then::Stay)
}
