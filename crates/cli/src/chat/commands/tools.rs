//! `/tools`: lists the tools and whether the model can use them.

use crate::show::{pad, room, truncate};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["tools"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let agent = &chat.runner.agent;
    for (tool, tier) in agent.tiers()? {
        let line = format!("{}  {}  {}", pad(tool.name(), 24), pad(tier.name(), 10), tool.about());
        chat.screen.print_line(&truncate(&line, room(1)));
    }
    Ok(Next::Prompt)
}
