//! `/undo`: the last turn, as if it had not been.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::To;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["undo"],
    takes: "",
    about: ("take the last turn back", "撤销上一轮"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let before = chat.session().tip.position();
    let after = chat.on_log(|log, id| log.rewind(id, To::Turns(1))).await?;
    chat.reopen().await?;
    chat.screen.say(&format!(
        "{before} → {} {}",
        after.tip.position(),
        say("messages; /redo takes it back", "条消息；/redo 可恢复")
    ));
    Ok(Then::Stay)
}
