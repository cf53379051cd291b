//! `/clear`.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["clear"],
    takes: "",
    about: (
        "begin with an empty context; nothing is deleted (/context undo takes it back)",
        "清空上下文；不删除任何内容（/context undo 可恢复）",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    chat.on_log(|log, id| log.cut(id)).await?;
    chat.reopen().await?;
    chat.screen.say(say(
        "the context is empty; what was said is kept and can be recalled",
        "上下文已清空；内容仍保留，可用 /recall 查找",
    ));
    Ok(Then::Stay)
}
