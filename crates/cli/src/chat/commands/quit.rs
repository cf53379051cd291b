//! `/quit`.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["quit", "exit"],
    takes: "",
    about: ("end; the session is kept", "退出；会话会保留"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    chat.relay.agent.live_mut().finish().await;
    Ok(Then::Quit)
}
