//! `/export`: writes the session to a file.

use crate::files::Output;
use crate::show::markdown;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use std::path::{Path, PathBuf};
use waterline_log::{Log, Session};

use super::{Next, Spec};
use crate::chat::Chat;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["export"],
    takes: "[FILE]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let id: String = chat.session().id.chars().take(12).collect();
    let path =
        if rest.is_empty() { PathBuf::from(format!("{id}.jsonl")) } else { PathBuf::from(rest) };
    if path.exists() {
        chat.screen.print_line(&text!("chat-export-exists", path = path.display().to_string()));
        return Ok(Next::Prompt);
    }
    let log = chat.log.clone();
    let session = chat.session().clone();
    let target = path.clone();
    let written = tokio::task::spawn_blocking(move || write(&log, &session, &target));
    let messages = written.await??;
    let path = path.display().to_string();
    chat.screen.print_line(&text!("chat-export-done", path = path, count = messages));
    Ok(Next::Prompt)
}

/// Writes a session in the format of the file's extension. Returns the number of messages, without
/// the system prompt.
fn write(log: &Log, session: &Session, path: &Path) -> Result<u64> {
    let mut file = Output::private(path)?;
    let is_markdown = path.extension().is_some_and(|name| name.eq_ignore_ascii_case("md"));
    let messages = match is_markdown {
        true => markdown(&mut file, log, session)?,
        false => {
            let exported = log.export(std::slice::from_ref(&session.id), &mut file)?;
            exported.messages - exported.prompts
        }
    };
    file.finish()?;
    Ok(messages)
}
