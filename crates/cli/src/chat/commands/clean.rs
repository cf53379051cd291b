//! `/clean`.

use crate::lang::say;
use crate::workspace;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::Whom;

use crate::chat::tidy::{DAY, WORKSPACE_DAYS};

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
    let days = i64::try_from(chat.config.agent.workspace_days.unwrap_or(WORKSPACE_DAYS)).unwrap_or(i64::MAX / DAY);
    let sessions = i64::try_from(chat.config.agent.session_days.unwrap_or(SESSION_DAYS)).unwrap_or(i64::MAX / DAY);
    let looked = chat.on_log(move |log, _| {
        let whom = Whom::IdleSince(log.now() - sessions * DAY);
        let gone = log.would_erase(&whom)?;
        Ok((whom, gone.sessions.len()))
    });
    let (whom, sessions) = looked.await?;
    let (log, own) = (chat.log.clone(), chat.session().id.clone());
    let look = move || workspace::idle(&log, &own, log.now() - days * DAY);
    let folders = tokio::task::spawn_blocking(look).await??;
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

/// Days after which a session goes if the config does not say.
const SESSION_DAYS: u64 = 30;
