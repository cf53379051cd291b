//! `/recall`: searches all messages of the session.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_session::RecallRequest;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::show::{passage, room};
use crate::text;

/// Maximum number of messages shown.
const HITS: usize = 10;

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
    let question = rest.to_owned();
    let recall = chat.runner.agent.recall();
    let chars = room(1);
    let search = move |log: &waterline_log::Log, id: &str| {
        let request = RecallRequest::new(&question, HITS, chars);
        Ok((recall.search(log, id, &request)?, log.numbering(&log.session(id)?)?))
    };
    let (found, numbering) = chat.on_log(search).await?;
    if found.is_empty() {
        chat.screen.print_line(&text!("recall-no-match"));
    }
    for found in found {
        let [about, text] = passage(&found, &numbering);
        chat.screen.print_note(&about);
        chat.screen.print_line(&text);
    }
    Ok(Next::Prompt)
}
