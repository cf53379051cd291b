//! `/model`.

use crate::lang::say;
use crate::models::ModelArguments;
use crate::show::number;
use anyhow::Result;
use futures_util::future::LocalBoxFuture;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["model"],
    takes: "[NAME]",
    about: ("which model is asked; with a NAME, ask another from now on", "当前模型；给出名称则切换"),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    if rest.is_empty() {
        let live = chat.relay.agent.live();
        chat.screen.say(&format!("{} ({} {})", live.model().name, number(live.window()), say("tokens", "个 token")));
        return Ok(Then::Stay);
    }
    // The one that the program began with keeps the address it was given.
    if chat.first_model.model.as_deref() == Some(rest) {
        chat.arguments.model = chat.first_model.clone();
    } else {
        (chat.relay.agent.equipment().models)(rest).map_err(anyhow::Error::msg)?;
        chat.arguments.model = ModelArguments { model: Some(rest.to_owned()), ..ModelArguments::default() };
    }
    chat.reopen().await?;
    let name = rest.to_owned();
    chat.relay.agent.live_mut().change(|session| session.model = Some(name)).await?;
    chat.screen.say(&format!("{} {rest}", say("from now on", "此后使用")));
    Ok(Then::Stay)
}
