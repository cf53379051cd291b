//! `/sessions`.

use crate::ids;
use crate::lang::say;
use crate::show::{cut, number, pad, room};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::{Filter, Session};

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["sessions"],
    takes: "",
    about: ("list the sessions", "列出会话"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, _: &str) -> Result<Then> {
    let own = chat.session().id.clone();
    let mut sessions = chat.on_log(|log, _| log.sessions(&Filter::default())).await?;
    sessions.retain(|session| session.id == own || Session::is_conversation(session));
    chat.screen.note(&head());
    for session in sessions.iter().take(SHOWN) {
        chat.screen.say(&line(session, session.id == own));
    }
    if sessions.len() > SHOWN {
        chat.screen.note(&format!("… {}", sessions.len() - SHOWN));
    }
    Ok(Then::Stay)
}

/// How many are shown.
const SHOWN: usize = 30;

fn head() -> String {
    let [id, count, used, model, title] = [
        say("session", "会话"),
        say("messages", "消息数"),
        say("used", "最近使用"),
        say("model", "模型"),
        say("title", "标题"),
    ];
    row("", id, count, [used, model, title])
}

fn line(session: &Session, is_own: bool) -> String {
    let id = ids::long(&session.id);
    let count = number(usize::try_from(session.tip.position()).unwrap_or(usize::MAX));
    let used = time(session.active);
    let model = session.model.as_deref().unwrap_or("–");
    row(if is_own { "*" } else { "" }, &id, &count, [used.as_str(), model, session.title.as_str()])
}

/// Where a session stands in the list.
fn row(mark: &str, id: &str, count: &str, [used, model, title]: [&str; 3]) -> String {
    let model = cut(model, 15);
    let columns: [(&str, usize); 5] =
        [(mark, 1), (id, 12), (count, 8), (used, 16), (model.as_str(), 15)];
    let columns: Vec<String> = columns.iter().map(|(text, wide)| pad(text, *wide)).collect();
    cut(&format!("{}  {title}", columns.join(" ")), room(1))
}

/// A time as the clock on the wall showed it.
fn time(milliseconds: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}
