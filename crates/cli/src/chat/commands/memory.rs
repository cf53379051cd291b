//! `/memory`: shows the newest lines of the memory, or searches it.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["memory"],
    takes: "[TEXT]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let Some(memory) = chat.runner.agent.live().config().memory.clone() else {
        chat.screen.print_line(&text!("memory-off"));
        return Ok(Next::Prompt);
    };
    let words: Vec<String> = rest.split_whitespace().map(str::to_lowercase).collect();
    let is_search = !words.is_empty();
    if !is_search {
        chat.screen.print_note(&memory.place());
    }
    let read = move || if is_search { memory.find(&words, LINES) } else { memory.newest(LINES) };
    let found = tokio::task::spawn_blocking(read).await??;
    if found.is_empty() {
        chat.screen.print_line(&match is_search {
            true => text!("memory-no-match"),
            false => text!("memory-empty"),
        });
    }
    found.iter().for_each(|line| chat.screen.print_line(line));
    Ok(Next::Prompt)
}

/// The most lines shown.
const LINES: usize = 10;
