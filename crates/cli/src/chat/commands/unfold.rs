//! `/unfold`: a call that was shown on one line.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["unfold"],
    takes: "[N]",
    about: (
        "show call N, or the last one, whole (Ctrl-O)",
        "完整显示第 N 个或最近一次调用（Ctrl-O）",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    match chat.screen.folded(rest.parse().ok()) {
        Some(call) => chat.screen.say(&format!("{} {}\n{}", call.name, call.arguments, call.text)),
        None => chat.screen.say(say("there is no such call", "没有该调用")),
    }
    Ok(Then::Stay)
}
