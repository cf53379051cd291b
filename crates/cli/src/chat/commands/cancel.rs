//! `/cancel`.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["cancel"],
    takes: "",
    about: (
        "stop the running turn, or give up what waits for you",
        "停止当前轮，或放弃等待中的操作",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let given_up = chat.relay.agent.cancel().await?;
    let text = if given_up {
        say("given up", "已放弃")
    } else {
        say("nothing is running", "没有正在进行的操作")
    };
    chat.screen.say(text);
    Ok(Then::Stay)
}
