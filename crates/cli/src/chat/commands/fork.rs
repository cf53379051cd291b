//! `/fork`: continues in a copy of the session.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::Start;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["fork"],
    takes: "[N]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let session = chat.session().clone();
    let of = session.id.clone();
    let numbering = chat.on_log(move |log, _| log.numbering(&session)).await?;
    let at = rest.parse::<u64>().ok().map(|number| numbering.position(number));
    let made = chat.open_new(Start::Fork { of, at }).await?;
    let count = numbering.count(made.tip.position());
    chat.screen.print_line(&text!("fork-done", id = made.id, position = count));
    Ok(Next::Prompt)
}
