//! `/export`.

use crate::files::Output;
use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use std::path::PathBuf;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["export"],
    takes: "[FILE]",
    about: ("write this session to a file, complete", "将本会话完整导出到文件"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let id: String = chat.session().id.chars().take(12).collect();
    let path = if rest.is_empty() { PathBuf::from(format!("{id}.jsonl")) } else { PathBuf::from(rest) };
    if path.exists() {
        chat.screen.say(&format!("{}: {}", say("it is there already", "文件已存在"), path.display()));
        return Ok(Then::Stay);
    }
    let (log, ids, to) = (chat.log.clone(), vec![chat.session().id.clone()], path.clone());
    let written = tokio::task::spawn_blocking(move || {
        let mut file = Output::private(&to)?;
        let exported = log.export(&ids, &mut file)?;
        file.finish()?;
        anyhow::Ok(exported)
    });
    let exported = written.await??;
    chat.screen.say(&format!("{}: {} {}", path.display(), exported.messages, say("messages", "条消息")));
    Ok(Then::Stay)
}
