//! `/allow-host`: lets commands reach a host, until the chat opens another session.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_sandbox::Network;
use waterline_sandbox::network::Host;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["allow-host"],
    takes: "HOST",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    if rest.is_empty() {
        chat.screen.print_line(&text!("allow-host-which"));
        return Ok(Next::Prompt);
    }
    let host = rest.parse::<Host>()?.to_string();
    let assembly = &chat.assembly;
    if assembly.overrides.network(&assembly.config.settings.agent) == Network::Any {
        chat.screen.print_line(&text!("allow-host-any"));
        return Ok(Next::Prompt);
    }
    let allowed = host.clone();
    chat.grant(|overrides| overrides.allow_hosts.push(allowed)).await?;
    chat.screen.print_line(&text!("allow-host-done", host = host));
    Ok(Next::Prompt)
}
