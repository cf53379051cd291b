//! `/model`.

use crate::lang::say;
use crate::show::{number, room, wrap};
use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use waterline_agent::OFFLINE;
use waterline_config::ModelOverrides;
use waterline_provider::local;

use super::{Spec, Then};
use crate::chat::Chat;

pub(super) const SPEC: Spec = Spec {
    names: &["model"],
    takes: "[NAME]",
    about: (
        "which model is asked, and which there are; with a NAME, ask another from now on",
        "当前及可用的模型；给出名称则切换",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    if rest.is_empty() {
        list(chat).await;
        return Ok(Then::Stay);
    }
    let wanted = wanted(chat, rest).await?;
    let before = std::mem::replace(&mut chat.assembly.overrides.model, wanted);
    if let Err(error) = chat.reopen().await {
        // The session goes on with the model it had.
        chat.assembly.overrides.model = before;
        return Err(error);
    }
    let name = rest.to_owned();
    chat.relay.agent.live_mut().change(move |session| session.model = Some(name.clone())).await?;
    chat.screen.say(&format!("{} {rest}", say("from now on", "此后使用")));
    Ok(Then::Stay)
}

/// The model that is asked, and others that could be.
async fn list(chat: &Chat) {
    let live = chat.relay.agent.live();
    chat.screen.say(&format!(
        "{} ({} {})",
        live.model().name,
        number(live.window()),
        say("tokens", "个 token")
    ));
    if let Some(base) = server(chat).and_then(|server| server.base_url) {
        tell(chat, &say(format!("at {base}"), format!("{base} 上")), &local::models(&base).await);
    }
    let named: Vec<String> = chat.assembly.config.settings.models.keys().cloned().collect();
    tell(chat, say("in the config", "配置中"), &named);
}

fn tell(chat: &Chat, place: &str, names: &[String]) {
    if !names.is_empty() {
        wrap(&format!("{place}: {}", names.join(", ")), room(1))
            .iter()
            .for_each(|line| chat.screen.note(line));
    }
}

/// How a model of this name is asked: where the config says, else at the server that is asked now,
/// else at its provider's.
async fn wanted(chat: &Chat, name: &str) -> Result<ModelOverrides> {
    // The one that the program began with keeps the address it was given.
    if chat.first_model.model.as_deref() == Some(name) {
        return Ok(chat.first_model.clone());
    }
    let model = Some(name.to_owned());
    let is_named = chat.assembly.config.settings.models.contains_key(name) || name == OFFLINE;
    let elsewhere = (chat.relay.agent.config().models)(name);
    if let Some(server) = server(chat).filter(|_| !is_named)
        && (elsewhere.is_err() || may_have(&server, name).await)
    {
        return Ok(ModelOverrides { model, window: None, ..server });
    }
    elsewhere.map_err(anyhow::Error::msg)?;
    Ok(ModelOverrides { model, ..ModelOverrides::default() })
}

/// The server of somebody's own that is asked now: its address, its wire, its key. None where a
/// provider is asked. An address that a folder's file names is none of them: no key is sent there.
fn server(chat: &Chat) -> Option<ModelOverrides> {
    let asked = &chat.relay.agent.live().config().model.model;
    if asked.address().is_empty() {
        return None;
    }
    let given = chat.assembly.overrides.model.clone();
    let settings = &chat.assembly.config.settings;
    let configured =
        settings.base_url.clone().filter(|_| given.model.is_none() && !settings.is_untrusted);
    let found = local::USUAL
        .iter()
        .map(|(_, base)| (*base).to_owned())
        .find(|base| base == asked.address());
    let base_url = given.base_url.clone().or(configured).or(found)?;
    Some(ModelOverrides { base_url: Some(base_url), wire: Some(asked.wire()), ..given })
}

/// Whether a server may have a model: it says so, perhaps with a version behind the name, or it
/// says nothing.
async fn may_have(server: &ModelOverrides, name: &str) -> bool {
    let names = local::models(server.base_url.as_deref().unwrap_or_default()).await;
    names.is_empty()
        || names.iter().any(|known| known == name || known.split(':').next() == Some(name))
}
