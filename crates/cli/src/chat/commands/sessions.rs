//! `/sessions`: lists the sessions.

use crate::ids;
use crate::show::{number, pad, room, truncate};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::{Filter, Log, Session};

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["sessions"],
    takes: "",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Next> {
    let own = chat.session().id.clone();
    let mut sessions = chat.on_log(|log, _| log.sessions(&Filter::default())).await?;
    sessions.retain(|session| session.id == own || Session::is_conversation(session));
    let more = sessions.len().saturating_sub(SHOWN);
    sessions.truncate(SHOWN);
    let count = move |log: &Log, _: &str| {
        sessions.into_iter().map(|session| counted(log, session)).collect()
    };
    let shown: Vec<(Session, u64)> = chat.on_log(count).await?;
    chat.screen.print_note(&head());
    for (session, count) in &shown {
        chat.screen.print_line(&line(session, *count, session.id == own));
    }
    if more > 0 {
        chat.screen.print_note(&text!("chat-sessions-more", count = more));
    }
    Ok(Next::Prompt)
}

/// The most sessions shown.
const SHOWN: usize = 30;

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
    row(if is_own { "*" } else { "" }, &id, &count, [used.as_str(), model, session.title.as_str()])
}

fn row(mark: &str, id: &str, count: &str, [used, model, title]: [&str; 3]) -> String {
    let model = truncate(model, 15);
    // An imported id may be long; `/load` takes its start.
    let id = truncate(id, 12);
    let columns: [(&str, usize); 5] =
        [(mark, 1), (id.as_str(), 12), (count, 8), (used, 16), (model.as_str(), 15)];
    let columns: Vec<String> = columns.iter().map(|(text, wide)| pad(text, *wide)).collect();
    truncate(&format!("{}  {title}", columns.join(" ")), room(1))
}

/// Formats a time in the local time zone.
fn time(milliseconds: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}
