//! `/tools`: lists the tools and whether the model can use them.

use crate::show::{pad, room, truncate};
use anyhow::Result;
use fluent_bundle::FluentArgs;
use futures_util::future::LocalBoxFuture;
use waterline_agent::tool::{Callable, Tier};

use super::{Next, Spec};
use crate::chat::Chat;
use crate::{lang, text};

pub(super) const SPEC: Spec = Spec {
    names: &["tools"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let agent = &chat.runner.agent;
    for (tool, tier) in agent.tiers()? {
        let name = tool.name();
        let line = format!(
            "{}  {}  {}",
            pad(name, 24),
            pad(&status(tier), 10),
            about(name, tool.as_ref())
        );
        chat.screen.print_line(&truncate(&line, room(1)));
    }
    chat.screen.print_note(&text!("tiers-legend"));
    Ok(Next::Prompt)
}

fn status(tier: Tier) -> String {
    match tier {
        Tier::Discovered => text!("tier-discovered"),
        Tier::Enabled => text!("tier-enabled"),
        Tier::Visible => text!("tier-visible"),
        other => other.name().to_owned(),
    }
}

/// Returns what a tool does: a built-in one in the user's language, one of a server as it says.
fn about(name: &str, tool: &dyn Callable) -> String {
    let id = format!("tool-{}", name.replace('_', "-"));
    lang::find(&id, &FluentArgs::new()).unwrap_or_else(|| tool.about().to_owned())
}
