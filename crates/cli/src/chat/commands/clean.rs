//! `/clean`: deletes workspaces and sessions that have not been used for a long time.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::expiry::{self, SESSION_DAYS, before};
use waterline_config::DEFAULT_WORKSPACE_DAYS;
use waterline_log::EraseTarget;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["clean"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let agent = &chat.assembly.config.settings.agent;
    let workspace_days = agent.workspace_days.unwrap_or(DEFAULT_WORKSPACE_DAYS);
    let session_days = agent.session_days.unwrap_or(SESSION_DAYS);
    let log = chat.log.clone();
    let own = chat.session().id.clone();
    let root = chat.runner.agent.config().workspaces.clone();
    let find = move || -> Result<_> {
        let whom = EraseTarget::IdleSince(before(&log, session_days));
        let sessions = log.would_erase(&whom)?.sessions;
        let unused = before(&log, workspace_days);
        let workspaces = expiry::old(&log, Some(&own), unused, &sessions, root)?;
        Ok((whom, sessions.len(), workspaces))
    };
    let (whom, sessions, workspaces) = tokio::task::spawn_blocking(find).await??;
    let expired = workspaces.expired.len();
    let workspaces_found = (expired > 0)
        .then(|| text!("chat-clean-workspaces", count = expired, days = workspace_days));
    let sessions_found =
        (sessions > 0).then(|| text!("chat-clean-sessions", count = sessions, days = session_days));
    let what = match (workspaces_found, sessions_found) {
        (None, None) => {
            chat.screen.print_line(&text!("chat-clean-nothing"));
            return Ok(Next::Prompt);
        }
        (Some(what), None) | (None, Some(what)) => what,
        (Some(workspaces), Some(sessions)) => {
            text!("chat-clean-both", workspaces = workspaces, sessions = sessions)
        }
    };
    if chat.confirm(&text!("chat-clean-question", what = what)) {
        chat.on_log(move |log, _| log.erase(&whom)).await?;
        let kept = tokio::task::spawn_blocking(move || workspaces.remove()).await?;
        kept.iter().for_each(|reason| chat.screen.print_note(reason));
        chat.screen.print_line(&text!("chat-clean-done"));
    } else {
        chat.screen.print_line(&text!("chat-clean-declined"));
    }
    Ok(Next::Prompt)
}
