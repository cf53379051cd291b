//! `/sessions`.

use crate::show::{cut, pad};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::{Filter, Relation};

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["sessions"],
    takes: "",
    about: ("list the sessions", "列出会话"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let mut sessions = chat.on_log(|log, _| log.sessions(&Filter::default())).await?;
    sessions.retain(|session| session.relation != Relation::SubAgent);
    let own = chat.session().id.clone();
    for session in sessions.iter().take(SHOWN) {
        let mark = if session.id == own { "*" } else { " " };
        let id: String = session.id.chars().take(12).collect();
        chat.screen.say(&format!(
            "{mark} {}  {:>6}  {}",
            pad(&id, 12),
            session.tip.position(),
            cut(&session.title, 70)
        ));
    }
    if sessions.len() > SHOWN {
        chat.screen.note(&format!("… {}", sessions.len() - SHOWN));
    }
    Ok(Then::Stay)
}

/// How many are shown.
const SHOWN: usize = 30;
