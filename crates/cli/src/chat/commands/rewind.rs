//! `/rewind`.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::To;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["rewind"],
    takes: "[N]",
    about: ("go back by N turns (1); /redo takes it back", "回退 N 轮（默认 1）；/redo 可恢复"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let Ok(turns) = (if rest.is_empty() { "1" } else { rest }).parse::<u64>() else {
        chat.screen.say(say("N is a number of turns", "N 是轮数"));
        return Ok(Then::Stay);
    };
    let before = chat.session().tip.position();
    let after = chat.on_log(move |log, id| log.rewind(id, To::Turns(turns))).await?;
    chat.reopen().await?;
    chat.screen.say(&format!("{before} → {} {}", after.tip.position(), say("messages", "条消息")));
    Ok(Then::Stay)
}
