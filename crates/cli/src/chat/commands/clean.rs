//! `/clean`.

use crate::lang::say;
use crate::workspace;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::{Filter, Whom};

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["clean"],
    takes: "",
    about: (
        "remove workspaces unused for 7 days and sessions unused for 30; asks first",
        "清理 7 天未用的工作区和 30 天未用的会话（先询问）",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let looked = chat.on_log(|log, own| {
        let before = |days: i64| log.now() - days * DAY;
        let idle = log.sessions(&Filter { idle_since: Some(before(7)), ..Filter::default() })?;
        let idle: Vec<String> = idle.into_iter().map(|session| session.id).filter(|id| id != own).collect();
        let whom = Whom::IdleSince(before(30));
        let gone = log.would_erase(&whom)?;
        Ok((idle, whom, gone.sessions.len()))
    });
    let (idle, whom, sessions) = looked.await?;
    let log = chat.log.clone();
    let folders = tokio::task::spawn_blocking(move || workspace::of(&log, &idle)).await??;
    if folders.is_empty() && sessions == 0 {
        chat.screen.say(say("there is nothing to clean", "没有可清理的内容"));
        return Ok(Then::Stay);
    }
    let en = format!("{} workspaces and {sessions} sessions would go. Delete them?", folders.len());
    let zh = format!("将删除 {} 个工作区和 {sessions} 个会话。确定？", folders.len());
    if chat.agrees(&say(en, zh)) {
        chat.on_log(move |log, _| log.erase(&whom)).await?;
        let kept = tokio::task::spawn_blocking(move || workspace::remove_all(&folders)).await?;
        kept.iter().for_each(|reason| chat.screen.note(reason));
        chat.screen.say(say("done", "完成"));
    }
    Ok(Then::Stay)
}

const DAY: i64 = 86_400_000;
