//! `/clean`.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::expiry::{self, SESSION_DAYS, before};
use waterline_config::DEFAULT_WORKSPACE_DAYS;
use waterline_log::Whom;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["clean"],
    takes: "",
    about: (
        "remove workspaces and sessions unused for long; says for how long, and asks",
        "清理长期未用的工作区和会话（先说明天数并询问）",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let agent = &chat.assembly.config.settings.agent;
    let days = agent.workspace_days.unwrap_or(DEFAULT_WORKSPACE_DAYS);
    let session_days = agent.session_days.unwrap_or(SESSION_DAYS);
    let (log, own) = (chat.log.clone(), chat.session().id.clone());
    let place = chat.relay.agent.config().workspaces.clone();
    let look = move || -> Result<_> {
        let whom = Whom::IdleSince(before(&log, session_days));
        let sessions = log.would_erase(&whom)?.sessions;
        let folders = expiry::old(&log, Some(&own), before(&log, days), &sessions, place)?;
        Ok((whom, sessions.len(), folders))
    };
    let (whom, sessions, folders) = tokio::task::spawn_blocking(look).await??;
    if folders.expired.is_empty() && sessions == 0 {
        chat.screen.say(say("there is nothing to clean", "没有可清理的内容"));
        return Ok(Then::Stay);
    }
    let count = folders.expired.len();
    let en = format!(
        "{count} workspaces unused for {days} days and {sessions} sessions unused for {session_days} would go. Delete them?"
    );
    let zh = format!(
        "将删除 {days} 天未用的 {count} 个工作区和 {session_days} 天未用的 {sessions} 个会话。确定？"
    );
    if chat.agrees(&say(en, zh)) {
        chat.on_log(move |log, _| log.erase(&whom)).await?;
        let kept = tokio::task::spawn_blocking(move || folders.remove()).await?;
        kept.iter().for_each(|reason| chat.screen.note(reason));
        chat.screen.say(say("done", "完成"));
    }
    Ok(Then::Stay)
}
