//! `/steer`.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["steer"],
    takes: "words",
    about: (
        "say something to the running turn; between turns it is said as usual",
        "对正在进行的一轮补充说明",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    if rest.is_empty() {
        chat.screen.say(say(
            "steer to what? While a turn runs, any line that is typed steers it",
            "请输入内容。一轮进行时，输入的任何行都会作为补充",
        ));
        return Ok(Then::Stay);
    }
    Ok(Then::Say(rest.to_owned()))
}
