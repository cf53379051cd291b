//! `/export`.

use crate::files::Output;
use crate::lang::say;
use crate::show::{count_of, markdown};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use std::path::{Path, PathBuf};
use waterline_log::{Log, Session};

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["export"],
    takes: "[FILE]",
    about: (
        "write this session to a file: complete, as JSON lines; as FILE.md for people to read",
        "将本会话导出到文件：完整的 JSON 行；FILE.md 则供人阅读",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let id: String = chat.session().id.chars().take(12).collect();
    let path =
        if rest.is_empty() { PathBuf::from(format!("{id}.jsonl")) } else { PathBuf::from(rest) };
    if path.exists() {
        chat.screen.say(&format!(
            "{}: {}",
            say("it is there already", "文件已存在"),
            path.display()
        ));
        return Ok(Then::Stay);
    }
    let (log, session, to) = (chat.log.clone(), chat.session().clone(), path.clone());
    let written = tokio::task::spawn_blocking(move || write(&log, &session, &to));
    let messages = written.await??;
    let messages = say(count_of(messages, "message"), format!("{messages} 条消息"));
    chat.screen.say(&format!("{}: {messages}", path.display()));
    Ok(Then::Stay)
}

/// Writes a session as the name of the file says; gives how many messages it has.
fn write(log: &Log, session: &Session, to: &Path) -> Result<u64> {
    let mut file = Output::private(to)?;
    let is_for_people = to.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
    let messages = match is_for_people {
        true => markdown(&mut file, log, session)?,
        false => log.export(std::slice::from_ref(&session.id), &mut file)?.messages,
    };
    file.finish()?;
    Ok(messages)
}
