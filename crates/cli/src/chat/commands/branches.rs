//! `/branches`.

use crate::lang::say;
use crate::show::pad;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::Branch;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["branches"],
    takes: "[ID]",
    about: ("the ways this session has gone; with an ID, go over to one", "本会话走过的分支；给出 ID 则切换"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let branches = chat.on_log(|log, id| log.branches(id)).await?;
    if !rest.is_empty() {
        let fits = |branch: &&Branch| branch.id.is_some_and(|id| id.to_string().starts_with(rest));
        let mut found = branches.iter().filter(fits);
        let (Some(branch), None) = (found.next(), found.next()) else {
            chat.screen.say(say("no branch, or more than one, begins so", "没有或有多个分支匹配"));
            return Ok(Then::Stay);
        };
        let Some(to) = branch.id else { return Ok(Then::Stay) };
        chat.on_log(move |log, id| log.switch(id, to)).await?;
        chat.reopen().await?;
    }
    let branches = chat.on_log(|log, id| log.branches(id)).await?;
    for branch in &branches {
        let mark = if branch.is_current { "*" } else { " " };
        let id = branch.id.map(|id| id.short()).unwrap_or_default();
        chat.screen.say(&format!(
            "{mark} {}  {} {} ({} {})",
            pad(&id, 12),
            branch.tip.position(),
            say("messages", "条消息"),
            branch.shared,
            say("shared", "条共有")
        ));
    }
    Ok(Then::Stay)
}
