//! `/unfold`: shows a call in full.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["unfold"],
    takes: "[N]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    match chat.screen.call(rest.parse().ok()) {
        Some(call) => {
            chat.screen.print_line(&format!("{} {}\n{}", call.name, call.arguments, call.text))
        }
        None => chat.screen.print_line(&text!("unfold-none")),
    }
    Ok(Next::Prompt)
}
