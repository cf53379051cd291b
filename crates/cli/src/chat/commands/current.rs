//! `/current`: shows the session, its messages, its workspace and its sub-agents.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline::message::{Message, Role};
use waterline::plan::{Slot, Treatment};
use waterline::policy::Policy;
use waterline_agent::State;
use waterline_log::{Filter, Relation, Session};
use waterline_session::LiveSession;

use super::sessions::counted;
use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["current"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

/// The deepest level of sub-agents that is shown.
const MAX_DEPTH: usize = 8;

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let session = chat.session().clone();
    let live = chat.runner.agent.live();
    chat.screen.print_line(&text!("current-id", id = &session.id));
    chat.screen.print_line(&messages(&Count::of(live), live.policy()));
    let workspace = chat.runner.agent.workspace().path().display().to_string();
    chat.screen.print_line(&text!("current-workspace", path = workspace));
    let root = session.id.clone();
    let all = chat.on_log(|log, _| {
        let sessions = log.sessions(&Filter::default())?;
        let helpers = sessions.into_iter().filter(|it| it.relation == Relation::SubAgent);
        helpers.map(|session| counted(log, session)).collect()
    });
    let all: Vec<(Session, u64)> = all.await?;
    tree(chat, &all, &root, 0);
    Ok(Next::Prompt)
}

/// The messages of a session, without the system prompt.
struct Count {
    stored: usize,
    sent: usize,
    /// Whether messages were dropped from the context.
    is_trimmed: bool,
}

impl Count {
    fn of(live: &LiveSession) -> Self {
        let generation = live.generation();
        let context = generation.context(live.history());
        let (systems, sent): (Vec<&Message>, Vec<&Message>) =
            context.partition(|message| message.role == Role::System);
        let is_dropped =
            |slot: &Slot| matches!(slot.treatment, Treatment::Omitted | Treatment::Summary);
        // Before the first call the system prompt is stored and not sent.
        let systems = systems.len().max(usize::from(live.history().system_tokens() > 0));
        Self {
            stored: live.history().len().saturating_sub(systems),
            sent: sent.len(),
            is_trimmed: generation.slots().iter().any(is_dropped),
        }
    }
}

/// Returns the number of messages, without the system prompt.
pub(super) fn count(live: &LiveSession) -> usize {
    Count::of(live).stored
}

/// S0.73, S0.74: formats the number of messages, and how many the policy keeps.
fn messages(count: &Count, policy: &Policy) -> String {
    let Count { stored: count, sent, is_trimmed } = *count;
    let limit = policy
        .setting("window.messages")
        .and_then(|limit| usize::try_from(limit.as_integer()?).ok());
    match limit {
        None => text!("current-messages", count = count),
        Some(limit) if is_trimmed => {
            text!("current-trimming", count = count, limit = limit, sent = sent)
        }
        Some(limit) if count * 10 >= limit * 8 => {
            text!("current-near-limit", count = count, limit = limit)
        }
        Some(limit) => text!("current-messages-limit", count = count, limit = limit),
    }
}

/// S0.53: prints the tree of a session's sub-agents.
fn tree(chat: &Chat, all: &[(Session, u64)], parent: &str, depth: usize) {
    let children = all.iter().filter(|(session, _)| {
        session.relation == Relation::SubAgent && session.parent.as_deref() == Some(parent)
    });
    let mut children: Vec<&(Session, u64)> = children.collect();
    children.sort_by_key(|(session, _)| session.created);
    for (session, messages) in children {
        let loops = State::of(session).map_or(0, |state| state.loops);
        let line = text!(
            "current-sub-agent",
            id = &session.context_id,
            messages = *messages,
            loops = loops,
            title = &session.title,
        );
        chat.screen.print_line(&format!("{}└ {line}", "  ".repeat(depth)));
        if depth < MAX_DEPTH {
            tree(chat, all, &session.id, depth + 1);
        }
    }
}
