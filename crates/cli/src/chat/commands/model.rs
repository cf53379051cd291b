//! `/model`: shows the model and the available ones, switches to another, or sets the preferred
//! one.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use futures_util::future::LocalBoxFuture;
use waterline_agent::{AgentError, Local, OFFLINE, State};
use waterline_config::{MODEL_PREFERENCE, ModelOverrides, Models};
use waterline_provider::local;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::lang::list;
use crate::show::model_notes;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["model"],
    takes: "[NAME | prefer [session] [NAME | none]]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    if rest.is_empty() {
        show(chat).await;
        return Ok(Next::Prompt);
    }
    if let Some(("prefer", name)) = rest.split_once(' ').or(Some((rest, ""))) {
        match name.trim().split_once(' ').unwrap_or((name.trim(), "")) {
            ("session", name) => prefer_here(chat, name.trim()).await?,
            _ => prefer(chat, name.trim()).await?,
        }
        return Ok(Next::Prompt);
    }
    let wanted = wanted(chat, rest).await?;
    let before = chat.assembly.clone();
    chat.assembly.overrides.model = wanted;
    let changed = match chat.assembly.reload_models().await {
        Ok(()) => chat.reopen().await,
        Err(error) => Err(error.into()),
    };
    if let Err(error) = changed {
        // The session keeps its model.
        chat.assembly = before;
        return Err(error);
    }
    let name = rest.to_owned();
    chat.runner.agent.live_mut().change(move |session| session.model = Some(name.clone())).await?;
    chat.screen.print_line(&text!("model-changed", name = rest));
    let notes = model_notes(chat.runner.agent.live());
    notes.iter().for_each(|note| chat.screen.print_note(note));
    Ok(Next::Prompt)
}

/// Shows, sets or removes the model that the user prefers for new sessions.
async fn prefer(chat: &Chat, name: &str) -> Result<()> {
    let user = chat.session().user.clone().unwrap_or_default();
    if name.is_empty() {
        let preferences = chat.on_log(move |log, _| log.preferences(&user)).await?;
        chat.screen.print_line(&match preferences.get(MODEL_PREFERENCE) {
            Some(name) => text!("model-preferred", name = name),
            None => text!("model-preferred-none"),
        });
        return Ok(());
    }
    let wanted = Some(name.to_owned()).filter(|name| name != "none");
    if wanted.is_some() {
        check_preferred(chat, name).await?;
    }
    let stored = wanted.clone();
    let store = move |log: &waterline_log::Log, _: &str| {
        log.set_preference(&user, MODEL_PREFERENCE, stored.as_deref())
    };
    chat.on_log(store).await?;
    chat.screen.print_line(&match wanted {
        Some(name) => text!("model-preferred-set", name = name),
        None => text!("model-preferred-removed"),
    });
    Ok(())
}

/// Shows, sets or removes the model that this session prefers when it is opened.
async fn prefer_here(chat: &mut Chat, name: &str) -> Result<()> {
    if !name.is_empty() {
        let wanted = Some(name.to_owned()).filter(|name| name != "none");
        // Any other model of a session is ignored: a session may come from elsewhere.
        if wanted.is_some() && !chat.assembly.config.settings.models.contains_key(name) {
            bail!(text!("model-preferred-here-unknown", name = name));
        }
        let change = move |state: &mut State, _: &mut Local| state.model_pref.clone_from(&wanted);
        chat.runner.agent.change(change).await?;
    }
    chat.screen.print_line(&match chat.runner.agent.state()?.model_pref {
        Some(name) => text!("model-preferred-here", name = name),
        None => text!("model-preferred-here-none"),
    });
    Ok(())
}

/// Checks that a new session would find a model. Flags of this chat do not apply to it.
async fn check_preferred(chat: &Chat, name: &str) -> Result<()> {
    let mut config = chat.assembly.config.clone();
    let preference = BTreeMap::from([(MODEL_PREFERENCE.to_owned(), name.to_owned())]);
    config.add_preferences("", &preference)?;
    let found = Models::new(&config).primary(&ModelOverrides::default()).await;
    Ok(found.map(drop)?)
}

/// Shows the current model, and the models of its server and of the config.
async fn show(chat: &Chat) {
    let live = chat.runner.agent.live();
    let name = &live.model().name;
    chat.screen.print_line(&text!("model-current", name = name, window = live.window()));
    if let Some(url) = server(chat).and_then(|server| server.base_url) {
        let names = list(&local::models(&url).await);
        if !names.is_empty() {
            chat.screen.print_note(&text!("model-list-server", url = url, names = names));
        }
    }
    let names: Vec<&str> =
        chat.assembly.config.settings.models.keys().map(String::as_str).collect();
    if !names.is_empty() {
        chat.screen.print_note(&text!("model-list-config", names = list(&names)));
    }
}

/// Returns how to reach a model of this name: as the config says, else at the current server, else
/// at its provider.
async fn wanted(chat: &Chat, name: &str) -> Result<ModelOverrides> {
    // The model that the program was started with keeps its address.
    if chat.first_model.model.as_deref() == Some(name) {
        return Ok(chat.first_model.clone());
    }
    let model = Some(name.to_owned());
    let is_named = chat.assembly.config.settings.models.contains_key(name) || name == OFFLINE;
    let elsewhere = (chat.runner.agent.config().models)(name);
    if let Some(server) = server(chat).filter(|_| !is_named)
        && (elsewhere.is_err()
            || local::may_have(server.base_url.as_deref().unwrap_or_default(), name).await)
    {
        return Ok(ModelOverrides { model, window: None, is_remembered: false, ..server });
    }
    elsewhere.map_err(AgentError::Unusable)?;
    Ok(ModelOverrides { model, ..ModelOverrides::default() })
}

/// Returns the current self-hosted server: its address, wire and key. None if the model is a
/// provider's, or if the address comes from the directory's config file: no key is sent there.
fn server(chat: &Chat) -> Option<ModelOverrides> {
    let current = &chat.runner.agent.live().config().model.model;
    if current.address().is_empty() {
        return None;
    }
    let given = chat.assembly.overrides.model.clone();
    let settings = &chat.assembly.config.settings;
    let configured =
        settings.base_url.clone().filter(|_| given.model.is_none() && !settings.is_untrusted);
    let found = local::USUAL
        .iter()
        .map(|(_, base)| (*base).to_owned())
        .find(|base| base == current.address());
    let base_url = given.base_url.clone().or(configured).or(found)?;
    Some(ModelOverrides { base_url: Some(base_url), wire: Some(current.wire()), ..given })
}
