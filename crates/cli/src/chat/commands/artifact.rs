//! `/artifact`: lists the long outputs of the session, or shows one.

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::Artifact;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::show::{lines, plain, room, truncate};
use crate::text;

/// The number of lines shown at a time.
const PAGE: usize = 200;

/// The digits of an id that are shown.
pub const ID_DIGITS: usize = 12;

pub(super) const SPEC: Spec = Spec {
    names: &["artifact", "artifacts"],
    takes: "[ID [LINE | all]]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let known = chat.on_log(|log, id| log.artifacts(id)).await?;
    let mut words = rest.split_whitespace();
    let Some(wanted) = words.next().map(str::to_lowercase) else {
        for artifact in &known {
            chat.screen.print_line(&line(artifact));
        }
        if known.is_empty() {
            chat.screen.print_line(&text!("artifact-none"));
        }
        return Ok(Next::Prompt);
    };
    let (first, count) = match words.next() {
        None => (1, PAGE),
        Some("all") => (1, usize::MAX),
        Some(line) => match line.parse::<usize>() {
            Ok(line @ 1..) => (line, PAGE),
            _ => {
                chat.screen.print_line(&SPEC.usage());
                return Ok(Next::Prompt);
            }
        },
    };
    let mut found = known.iter().filter(|artifact| artifact.hash.starts_with(&wanted));
    let (Some(artifact), None) = (found.next(), found.next()) else {
        chat.screen.print_line(&text!("artifact-unknown", id = wanted));
        return Ok(Next::Prompt);
    };
    let hash = artifact.hash.clone();
    let bytes = chat.on_log(move |log, _| log.artifact(&hash)).await?;
    let text = String::from_utf8_lossy(&bytes);
    let page: Vec<&str> = text.lines().skip(first - 1).take(count).collect();
    chat.screen.print_styled(&lines(&page.join("\n")));
    let shown = first - 1 + page.len();
    let more = text.lines().count().saturating_sub(shown);
    if more > 0 {
        let id = short(artifact);
        chat.screen.print_note(&text!("artifact-more", count = more, id = id, next = shown + 1));
    }
    Ok(Next::Prompt)
}

/// Returns the first digits of an artifact's id.
fn short(artifact: &Artifact) -> String {
    artifact.hash.chars().take(ID_DIGITS).collect()
}

/// Formats an artifact on one line: its id, its size and how it begins.
fn line(artifact: &Artifact) -> String {
    let begin = plain(artifact.preview.lines().next().unwrap_or_default());
    let size = text!("artifact-size", bytes = artifact.size);
    truncate(&format!("{}  {size}  {begin}", short(artifact)), room(1))
}
