//! `/config`: settings that hold from now on in this session. Wrong values are refused with what is
//! allowed.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use futures_util::future::LocalBoxFuture;
use waterline_agent::approval::Mode;
use waterline_config::Overrides;
use waterline_config::policy::SEEDS;
use waterline_log::Session;

use super::{Spec, Then};
use crate::chat::Chat;
use crate::lang::say;
use crate::settings;

pub(super) const SPEC: Spec = Spec {
    names: &["config"],
    takes: "[key [value]]",
    about: (
        "show settings; set one from now on, in this session",
        "显示设置；设置后立即在本会话生效",
    ),
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Then>> { Box::pin(run(chat, rest)) },
};

/// Settings that are not keys of the policy.
pub(in crate::chat) const OWN: [&str; 4] = ["policy", "model", "approval", "agent_max_steps"];

async fn run(chat: &mut Chat, rest: &str) -> Result<Then> {
    let (key, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match (key, value.trim()) {
        ("", _) => all(chat),
        (key, "") => {
            let shown = get(chat, key)?;
            chat.screen.say(&format!("{key} = {shown}"));
        }
        (key, value) => {
            let before = get(chat, key)?;
            set(chat, key, value).await?;
            let after = get(chat, key)?;
            chat.screen.say(&format!("{key}: {before} → {after}"));
        }
    }
    Ok(Then::Stay)
}

fn all(chat: &Chat) {
    let seeds = SEEDS.iter().map(|seed| seed.variable.to_lowercase());
    for key in OWN.iter().map(|key| (*key).to_owned()).chain(seeds) {
        if let Ok(value) = get(chat, &key) {
            chat.screen.say(&format!("{key} = {value}"));
        }
    }
    for (key, value) in &chat.session().overrides {
        chat.screen.say(&format!("{key} = {value}"));
    }
    chat.screen.note(say(
        "any key of the policy can be set too: `waterline policy show NAME` lists them",
        "也可设置策略的任意键：`waterline policy show 名称` 可列出",
    ));
}

/// The keys of the policy that a name means: its own, or those of a seed's setting.
fn keys(chat: &Chat, key: &str) -> Result<Vec<String>> {
    let Some(seed) = SEEDS.iter().find(|seed| seed.variable.eq_ignore_ascii_case(key)) else {
        return Ok(vec![key.to_owned()]);
    };
    let policy = &chat.relay.agent.live().policy().name;
    if policy != seed.preset {
        let preset = seed.preset;
        bail!(say(
            format!(
                "{key} belongs to the policy {preset}, and {policy} is in use; /config policy {preset} changes that"
            ),
            format!(
                "{key} 属于策略 {preset}，当前使用 {policy}；可用 /config policy {preset} 切换"
            ),
        ));
    }
    Ok(seed.keys.iter().map(|key| (*key).to_owned()).collect())
}

fn get(chat: &Chat, key: &str) -> Result<String> {
    let agent = &chat.relay.agent;
    Ok(match key {
        "policy" => agent.live().policy().name.clone(),
        "model" => agent.live().model().name.clone(),
        "approval" | "agent.approval" => {
            settings::approval(agent.config().approval.mode).to_owned()
        }
        "agent_max_steps" | "agent.steps" => agent.config().limits.steps.to_string(),
        key => {
            let keys = keys(chat, key)?;
            let first = keys.first().map(String::as_str).unwrap_or_default();
            match agent.live().policy().setting(first) {
                Some(value) => value.to_string(),
                None if super::keys::is_key(first) => say("not set", "未设置").to_owned(),
                None if key.contains('.') => bail!(super::keys::unknown(key)),
                None => bail!(say(
                    format!(
                        "nothing is called {key}; there are {}, and the keys of the policy",
                        OWN.join(", ")
                    ),
                    format!("没有名为 {key} 的设置；可用：{}，以及策略的键", OWN.join("、")),
                )),
            }
        }
    })
}

async fn set(chat: &mut Chat, key: &str, value: &str) -> Result<()> {
    match key {
        "policy" => {
            settings::policy(value, &[])?;
            let policy = Some(value.to_owned());
            // Keys of the other policy would not fit.
            let changed = Session { policy, overrides: BTreeMap::new(), ..chat.session().clone() };
            let overrides = Overrides { policy: None, ..chat.assembly.overrides.clone() };
            put(chat, overrides, changed).await?;
        }
        "model" => drop(super::model::SPEC.start_with(chat, value).await?),
        "approval" | "agent.approval" => {
            chat.assembly.overrides.approval =
                Some(value.parse::<Mode>().map_err(anyhow::Error::msg)?)
        }
        "agent_max_steps" | "agent.steps" => match value.parse::<usize>() {
            Ok(steps @ 1..=1_000) => chat.assembly.overrides.steps = Some(steps),
            _ => bail!(
                "agent_max_steps = {value} is refused; it must be a whole number from 1 to 1000"
            ),
        },
        key => {
            let keys = keys(chat, key)?;
            let name = chat.relay.agent.live().policy().name.clone();
            let mut changed = chat.session().clone();
            changed.overrides.extend(keys.into_iter().map(|key| (key, value.to_owned())));
            let all: Vec<(String, String)> = changed.overrides.clone().into_iter().collect();
            // Refused with its range before anything is changed.
            settings::policy(changed.policy.as_deref().unwrap_or(&name), &all)?;
            let overrides = chat.assembly.overrides.clone();
            put(chat, overrides, changed).await?;
        }
    }
    chat.reopen().await
}

/// Stores another policy, or other keys of it, once it is known that it can be used: what flags and
/// the config set may not fit it.
async fn put(chat: &mut Chat, overrides: Overrides, changed: Session) -> Result<()> {
    let before = std::mem::replace(&mut chat.assembly.overrides, overrides);
    let model = chat.relay.agent.live().model().name.clone();
    let tried = chat.assembly.agent_config().map_err(anyhow::Error::from);
    if let Err(error) = tried.and_then(|config| Ok(config.policies.of(&changed, &model)?)) {
        chat.assembly.overrides = before;
        return Err(error.context(say(
            "it does not go with the flags or the config",
            "与命令行参数或配置不符",
        )));
    }
    let change = move |session: &mut Session| {
        session.policy.clone_from(&changed.policy);
        session.overrides.clone_from(&changed.overrides);
    };
    Ok(chat.relay.agent.live_mut().change(change).await?)
}
