//! `/load`: switches to another session, by a prefix of its id.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::LogError;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["load"],
    takes: "ID",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    if rest.is_empty() {
        chat.screen.print_line(&text!("load-which"));
        return Ok(Next::Prompt);
    }
    let wanted = rest.to_owned();
    let found = chat.on_log(move |log, _| Ok(log.find(&wanted))).await?;
    let session = match found {
        Ok(session) => session,
        Err(LogError::Ambiguous { matches, .. }) => {
            chat.screen.print_line(&text!("load-ambiguous"));
            matches.iter().for_each(|id| chat.screen.print_line(&format!("  {id}")));
            return Ok(Next::Prompt);
        }
        Err(LogError::NoSession { .. }) => {
            chat.screen.print_line(&text!("load-unknown", id = rest));
            return Ok(Next::Prompt);
        }
        Err(error) => return Err(error.into()),
    };
    chat.open(&session.id).await?;
    chat.screen.print_line(&text!("load-done", id = &session.id));
    let count = super::current::count(chat.runner.agent.live());
    chat.screen.print_line(&text!("current-messages", count = count));
    let workspace = chat.runner.agent.workspace().working_directory().display().to_string();
    chat.screen.print_line(&text!("current-workspace", path = workspace));
    chat.show_newest().await?;
    Ok(Next::Prompt)
}
