//! `/branches`.

use crate::lang::say;
use crate::show::{cut, one_line, pad, room};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::{Branch, Entry, Log};
use waterline_provider::wire::parse_stored;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["branches"],
    takes: "[ID]",
    about: (
        "the ways this session has gone; with an ID, go over to one",
        "本会话走过的分支；给出 ID 则切换",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    if !rest.is_empty() && !go_over(chat, rest).await? {
        return Ok(Then::Stay);
    }
    for (branch, newest) in chat.on_log(ways).await? {
        chat.screen.say(&line(&branch, newest.as_ref()));
    }
    Ok(Then::Stay)
}

/// Goes over to the way whose id begins so; says whether there is just one.
async fn go_over(chat: &mut Chat, begins: &str) -> Result<bool> {
    let branches = chat.on_log(|log, id| log.branches(id)).await?;
    let fits = |branch: &&Branch| branch.id.is_some_and(|id| id.to_string().starts_with(begins));
    let mut found = branches.iter().filter(fits);
    let (Some(branch), None) = (found.next(), found.next()) else {
        chat.screen.say(say("no branch, or more than one, begins so", "没有或有多个分支匹配"));
        return Ok(false);
    };
    let Some(to) = branch.id else { return Ok(false) };
    chat.on_log(move |log, id| log.switch(id, to)).await?;
    chat.reopen().await?;
    Ok(true)
}

/// The ways that a session has gone, each with its newest message.
fn ways(log: &Log, id: &str) -> waterline_log::Result<Vec<(Branch, Option<Entry>)>> {
    let newest = |branch: Branch| -> waterline_log::Result<_> {
        let end = branch.tip.position();
        let entry = log.entries_in(branch.tip, end.saturating_sub(1)..end)?.pop();
        Ok((branch, entry))
    };
    log.branches(id)?.into_iter().map(newest).collect()
}

/// A way on a line: where it ends, and how it came to be one.
fn line(branch: &Branch, newest: Option<&Entry>) -> String {
    let mark = if branch.is_current { "*" } else { " " };
    let id = branch.id.map(|id| id.short()).unwrap_or_default();
    let (count, shared) = (branch.tip.position(), branch.shared);
    let size = say(
        format!("{count} messages ({shared} shared)"),
        format!("{count} 条消息（{shared} 条共有）"),
    );
    let message = newest.map(|entry| entry.message(parse_stored));
    let words = message.map(|message| match branch.is_aside {
        true => format!("{}: {}", say("stopped answer", "中断的回答"), one_line(&message)),
        false => format!("{}: {}", message.role.name(), one_line(&message)),
    });
    cut(&format!("{mark} {}  {size}  {}", pad(&id, 12), words.unwrap_or_default()), room(1))
}
