//! `/rewind`: the same as `/undo`, by the name it has outside.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["rewind"],
    takes: "[N]",
    about: ("go back by N turns (1); /redo takes it back", "回退 N 轮（默认 1）；/redo 可恢复"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    super::undo::back(chat, rest).await?;
    Ok(Then::Stay)
}
