//! `/load`: another session, by the beginning of its id.

use crate::lang::say;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_log::LogError;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["load"],
    takes: "ID",
    about: ("go over to another session", "切换到另一个会话"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    if rest.is_empty() {
        chat.screen.say(say("which one? /sessions lists them", "哪一个？/sessions 列出会话"));
        return Ok(Then::Stay);
    }
    let wanted = rest.to_owned();
    let found = chat.on_log(move |log, _| Ok(log.find(&wanted))).await?;
    let session = match found {
        Ok(session) => session,
        Err(LogError::Ambiguous { matches, .. }) => {
            chat.screen.say(say(
                "several begin so; give more of the id:",
                "有多个匹配，请给出更长的前缀：",
            ));
            matches.iter().for_each(|id| chat.screen.say(&format!("  {id}")));
            return Ok(Then::Stay);
        }
        Err(LogError::NoSession { .. }) => {
            chat.screen.say(say("there is no such session", "Session 不存在"));
            return Ok(Then::Stay);
        }
        Err(error) => return Err(error.into()),
    };
    chat.open(&session.id).await?;
    chat.screen.say(&format!("{}: {}", say("loaded session", "已加载 Session"), session.id));
    chat.screen.say(&format!("{}: {}", say("messages", "消息数"), session.tip.position()));
    chat.screen.say(&format!("Workspace: {}", chat.relay.agent.workspace().path().display()));
    chat.show_newest().await?;
    Ok(Then::Stay)
}
