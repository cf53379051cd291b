//! `/sessions`: lists the sessions.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::{Filter, Log, Relation, Session};

use super::{Next, Spec};
use crate::chat::Chat;
use crate::ids;
use crate::open_session::{Project, project_of};
use crate::show::{number, pad, room, truncate};
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["sessions"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

/// Lists the sessions with the newest next to the prompt: those of other directories, then those of
/// this one.
async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let own = chat.session().id.clone();
    let mut sessions = chat.on_log(|log, _| log.sessions(&Filter::default())).await?;
    sessions.retain(|session| session.id == own || Session::is_conversation(session));
    // A new session does not know yet where it works.
    let here = Project::of(chat.assembly.overrides.directory.as_ref());
    let config = &chat.assembly.config;
    let is_here = |session: &Session| {
        session.id == own || project_of(session, &sessions, config) == Some(here.clone())
    };
    let (mut shown, mut others): (Vec<Session>, Vec<Session>) =
        sessions.clone().into_iter().partition(is_here);
    let total = shown.len() + others.len();
    shown.truncate(SHOWN);
    others.truncate(OTHERS.max(SHOWN - shown.len()));
    let more = total - shown.len() - others.len();
    let has_others = !others.is_empty();
    if more > 0 {
        chat.screen.print_note(&text!("chat-sessions-more", count = more));
    }
    chat.screen.print_note(&head());
    for (sessions, is_here) in [(others, false), (shown, true)] {
        let count = move |log: &Log, _: &str| {
            sessions.into_iter().rev().map(|session| counted(log, session)).collect()
        };
        let counted: Vec<(Session, u64)> = chat.on_log(count).await?;
        // One list needs no heading.
        if !counted.is_empty() && (!is_here || has_others) {
            chat.screen.print_note(&match is_here {
                true => text!("chat-sessions-here"),
                false => text!("chat-sessions-elsewhere"),
            });
        }
        for (session, count) in &counted {
            chat.screen.print_line(&line(session, *count, session.id == own));
        }
    }
    Ok(Next::Prompt)
}

/// Maximum number of sessions shown of this directory, and of others if this one has many.
const SHOWN: usize = 20;
const OTHERS: usize = 5;

fn head() -> String {
    let id = text!("chat-sessions-session");
    let count = text!("chat-sessions-messages");
    let used = text!("chat-sessions-used");
    let model = text!("chat-sessions-model");
    let title = text!("chat-sessions-title");
    row("", &id, &count, [&used, &model, &title])
}

/// Returns a session with the number of its messages.
pub(super) fn counted(log: &Log, session: Session) -> waterline_log::Result<(Session, u64)> {
    let count = log.numbering(&session)?.count(session.tip.position());
    Ok((session, count))
}

fn line(session: &Session, count: u64, is_own: bool) -> String {
    let id = ids::long(&session.id);
    let count = number(usize::try_from(count).unwrap_or(usize::MAX));
    let used = time(session.active);
    let model = session.model.as_deref().unwrap_or("–");
    let title = title(session);
    row(if is_own { "*" } else { "" }, &id, &count, [used.as_str(), model, title.as_str()])
}

/// Returns the title of a session. A fork has that of its parent.
pub(in crate::chat) fn title(session: &Session) -> String {
    match session.relation {
        Relation::Fork => {
            let fork = text!("session-relation", name = session.relation.name());
            format!("[{fork}] {}", session.title)
        }
        _ => session.title.clone(),
    }
}

fn row(mark: &str, id: &str, count: &str, [used, model, title]: [&str; 3]) -> String {
    let model = truncate(model, MODEL);
    // An imported id may be long; `/load` takes its start.
    let id = truncate(id, 12);
    // In a narrow terminal the title is more important than the model.
    let is_narrow = room(0) < WITH_MODEL;
    let model_column = (!is_narrow).then_some((model.as_str(), MODEL));
    let columns: Vec<String> = [(mark, 1), (id.as_str(), 12), (count, 8), (used, 16)]
        .into_iter()
        .chain(model_column)
        .map(|(text, wide)| pad(text, wide))
        .collect();
    truncate(&format!("{}  {title}", columns.join(" ")), room(1))
}

/// The width of a model, and the terminals that have room for it.
const MODEL: usize = 15;
const WITH_MODEL: usize = 90;

/// Formats a time in the local time zone.
pub(in crate::chat) fn time(milliseconds: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}
