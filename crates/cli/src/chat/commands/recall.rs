//! `/recall`.

use crate::lang::say;
use crate::show::{cut, one_line, room};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_provider::wire::parse_stored;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["recall"],
    takes: "words",
    about: ("search everything that was said in this session", "搜索本会话的全部内容"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    if rest.is_empty() {
        chat.screen.say("/recall words");
        return Ok(Then::Stay);
    }
    let words = rest.to_owned();
    let hits = chat.on_log(move |log, id| log.search(&words, Some(id), FOUND)).await?;
    if hits.is_empty() {
        chat.screen.say(say("nothing has these words", "没有找到"));
    }
    for hit in hits {
        let message = hit.entry.message(parse_stored);
        let line =
            format!("{:>5}  {}: {}", hit.entry.position, message.role.name(), one_line(&message));
        chat.screen.say(&cut(&line, room(1)));
    }
    Ok(Then::Stay)
}

/// How many messages are shown.
const FOUND: usize = 10;
