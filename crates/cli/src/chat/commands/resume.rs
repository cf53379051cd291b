//! `/resume`.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["resume"],
    takes: "",
    about: ("go on where a turn was broken off", "继续中断的一轮"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    if chat.relay.agent.is_open()? {
        return Ok(Then::GoOn);
    }
    chat.screen.say(say("the last turn is finished", "上一轮已完成"));
    Ok(Then::Stay)
}
