//! `/rewind`: the same as `/undo`, under the name that `waterline sessions` uses.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["rewind"],
    takes: "[N]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    super::undo::back(chat, rest).await?;
    Ok(Next::Prompt)
}
