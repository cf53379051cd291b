//! `/tools`.

use crate::show::{cut, pad, room};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["tools"],
    takes: "",
    about: ("the tools, and how near each is to the model", "工具及其层级"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let agent = &chat.relay.agent;
    for (tool, tier) in agent.tiers()? {
        let line = format!("{}  {}  {}", pad(tool.name(), 24), pad(tier.name(), 10), tool.about());
        chat.screen.say(&cut(&line, room(1)));
    }
    Ok(Then::Stay)
}
