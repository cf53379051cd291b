//! `/current`: where one is, and who works below.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline::policy::Policy;
use waterline_agent::State;
use waterline_log::{Filter, Relation, Session};

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["current"],
    takes: "",
    about: (
        "the session, its messages, its workspace and its sub-agents",
        "当前会话、消息数、工作区与子代理",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let session = chat.session().clone();
    let live = chat.relay.agent.live();
    chat.screen.say(&format!("Session: {}", session.id));
    chat.screen.say(&messages(live.history().len(), live.policy()));
    chat.screen.say(&format!("Workspace: {}", chat.relay.agent.workspace().path().display()));
    let root = session.id.clone();
    let all = chat.on_log(|log, _| log.sessions(&Filter::default())).await?;
    tree(chat, &all, &root, 0);
    Ok(Then::Stay)
}

/// S0.73, S0.74: how many messages there are, and how many the policy keeps.
fn messages(count: usize, policy: &Policy) -> String {
    let most =
        policy.setting("window.messages").and_then(|most| usize::try_from(most.as_integer()?).ok());
    let Some(most) = most else { return format!("Messages: {count}") };
    let note = match count {
        _ if count > most => say(" (trimming active)", "（已开始裁剪）"),
        _ if count * 10 >= most * 8 => say(" (near the limit)", "（接近上限）"),
        _ => "",
    };
    format!("Messages: {count} / {most}{note}")
}

/// S0.53: the sub-agents of a session, and theirs.
fn tree(chat: &Chat, all: &[Session], parent: &str, depth: usize) {
    let below = all.iter().filter(|session| {
        session.relation == Relation::SubAgent && session.parent.as_deref() == Some(parent)
    });
    let mut below: Vec<&Session> = below.collect();
    below.sort_by_key(|session| session.created);
    for session in below {
        let indent = "  ".repeat(depth);
        chat.screen.say(&format!(
            "{indent}└ {} ({} messages, {} loops) {}",
            session.context_id,
            session.tip.position(),
            State::of(session).map_or(0, |state| state.loops),
            session.title
        ));
        if depth < 8 {
            tree(chat, all, &session.id, depth + 1);
        }
    }
}
