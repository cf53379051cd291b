//! `/recall`: searches all messages of the session.

use crate::show::{cut, one_line, room};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_provider::wire::parse_stored;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["recall"],
    takes: "TEXT",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    if rest.is_empty() {
        chat.screen.print_line(&SPEC.usage());
        return Ok(Next::Prompt);
    }
    let query = rest.to_owned();
    let hits = chat.on_log(move |log, id| log.search(&query, Some(id), HITS)).await?;
    if hits.is_empty() {
        chat.screen.print_line(&text!("recall-no-match"));
    }
    for hit in hits {
        let message = hit.entry.message(parse_stored);
        let line =
            format!("{:>5}  {}: {}", hit.entry.position, message.role.name(), one_line(&message));
        chat.screen.print_line(&cut(&line, room(1)));
    }
    Ok(Next::Prompt)
}

/// The most messages shown.
const HITS: usize = 10;
