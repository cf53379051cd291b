//! `/resume`: resumes an interrupted turn.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["resume"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    if chat.runner.agent.is_open()? {
        return Ok(if chat.may_resume()? { Next::Resume } else { Next::Prompt });
    }
    chat.screen.print_line(&text!("resume-nothing"));
    Ok(Next::Prompt)
}
