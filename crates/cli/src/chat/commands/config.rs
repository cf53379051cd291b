//! `/config`: shows the settings of the session and changes them. An invalid value is refused with
//! the allowed range.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use futures_util::future::LocalBoxFuture;
use waterline::policy::Policy;
use waterline_agent::approval::Mode;
use waterline_config::seed::{SEEDS, Seed};
use waterline_config::{ConfigError, Overrides};
use waterline_log::Session;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::lang::list;
use crate::settings;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["config"],
    takes: "[KEY [VALUE]]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

/// Settings that are not keys of the policy.
pub(in crate::chat) const SETTINGS: [&str; 4] = ["policy", "model", "approval", "agent.steps"];

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let (key, value) = key_and_value(rest);
    match (key, value) {
        ("", _) => all(chat),
        (key, "") => {
            let shown = get(chat, key)?;
            chat.screen.print_line(&format!("{key} = {shown}"));
        }
        (key, value) => {
            let before = get(chat, key)?;
            set(chat, key, value).await?;
            let after = get(chat, key)?;
            let line = text!("setting-changed", key = key, before = before, after = after);
            chat.screen.print_line(&line);
        }
    }
    Ok(Next::Prompt)
}

/// Splits `key value` or, as on the command line, `key=value`.
fn key_and_value(text: &str) -> (&str, &str) {
    let at = text.find(|c: char| c.is_whitespace() || c == '=');
    let (key, value) = at.map_or((text, ""), |at| text.split_at(at));
    (key, value.trim_start_matches(|c: char| c.is_whitespace() || c == '=').trim_end())
}

fn all(chat: &Chat) {
    let seeds = SEEDS.iter().map(|seed| seed.variable.to_lowercase());
    for key in SETTINGS.iter().map(|key| (*key).to_owned()).chain(seeds) {
        if let Ok(value) = get(chat, &key) {
            chat.screen.print_line(&format!("{key} = {value}"));
        }
    }
    for (key, value) in &chat.session().overrides {
        chat.screen.print_line(&format!("{key} = {value}"));
    }
    chat.screen.print_note(&text!("setting-policy-keys"));
}

/// Returns the seed setting with this name. It must belong to the policy in use.
fn seed(chat: &Chat, key: &str) -> Result<Option<&'static Seed>> {
    let policy = &chat.runner.agent.live().policy().name;
    match Seed::named(key) {
        Some(seed) if !seed.is_for(policy) => {
            let preset = seed.presets.first().copied().unwrap_or_default();
            bail!(text!("setting-other-policy", key = key, preset = preset, policy = policy))
        }
        seed => Ok(seed),
    }
}

fn get(chat: &Chat, key: &str) -> Result<String> {
    let agent = &chat.runner.agent;
    Ok(match key {
        "policy" => agent.live().policy().name.clone(),
        "model" => agent.live().model().name.clone(),
        "approval" | "agent.approval" => {
            settings::approval(agent.config().approval.mode).to_owned()
        }
        "agent_max_steps" | "agent.steps" => {
            agent.config().limits.steps_under(&agent.live().policy().name).to_string()
        }
        key => {
            let seed = seed(chat, key)?;
            let first = seed.and_then(|seed| seed.keys.first().copied()).unwrap_or(key);
            match agent.live().policy().setting(first) {
                Some(value) => value.to_string(),
                None if super::policy_keys::is_key(first) => text!("setting-not-set"),
                None if key.contains('.') => bail!(super::policy_keys::unknown(key)),
                None => bail!(text!("setting-unknown", key = key, settings = list(&SETTINGS))),
            }
        }
    })
}

async fn set(chat: &mut Chat, key: &str, value: &str) -> Result<()> {
    match key {
        "policy" => {
            settings::policy(value, &[])?;
            let policy = Some(value.to_owned());
            // Keys of the old policy would not fit the new one.
            let changed = Session { policy, overrides: BTreeMap::new(), ..chat.session().clone() };
            let overrides = Overrides { policy: None, ..chat.assembly.overrides.clone() };
            store(chat, overrides, changed).await?;
        }
        "model" => drop(super::model::SPEC.start_with(chat, value).await?),
        "approval" | "agent.approval" => {
            chat.assembly.overrides.approval = Some(value.parse::<Mode>()?)
        }
        "agent_max_steps" | "agent.steps" => match value.parse::<usize>() {
            Ok(steps @ 1..=1_000) => chat.assembly.overrides.steps = Some(steps),
            _ => bail!(text!("setting-steps-invalid", value = value)),
        },
        key => {
            let name = chat.runner.agent.live().policy().name.clone();
            let keys = match seed(chat, key)? {
                Some(seed) => seed.settings(&name, value)?,
                None => vec![(key.to_owned(), value.to_owned())],
            };
            let mut changed = chat.session().clone();
            changed.overrides.extend(keys);
            let policy = changed.policy.clone().unwrap_or(name);
            // An invalid value is refused, with its range, before anything changes.
            let tried = check(&policy, &changed)?;
            let before = chat.runner.agent.live().policy().setting(LOW_MARK);
            let low = tried.setting(LOW_MARK).filter(|low| before.as_ref() != Some(low));
            if let Some(low) = low.filter(|_| !changed.overrides.contains_key(LOW_MARK)) {
                let low = low.as_str().map_or_else(|| low.to_string(), str::to_owned);
                chat.screen.print_note(&text!("setting-adjusted", key = LOW_MARK, value = low));
            }
            let overrides = chat.assembly.overrides.clone();
            store(chat, overrides, changed).await?;
        }
    }
    chat.reopen().await
}

/// The mark that a fold reaches. It follows the high mark if that is set below it.
const LOW_MARK: &str = "fold.low";

/// Returns the policy with the keys of a session.
fn check(policy: &str, changed: &Session) -> Result<Policy, ConfigError> {
    let all: Vec<(String, String)> = changed.overrides.clone().into_iter().collect();
    settings::policy(policy, &all)
}

/// Stores a new policy or new keys, after checking that they work with the flags and the config.
async fn store(chat: &mut Chat, overrides: Overrides, changed: Session) -> Result<()> {
    let before = std::mem::replace(&mut chat.assembly.overrides, overrides);
    let model = chat.runner.agent.live().model().name.clone();
    let tried = chat.assembly.agent_config().map_err(anyhow::Error::from);
    if let Err(error) = tried.and_then(|config| Ok(config.policies.of(&changed, &model)?)) {
        chat.assembly.overrides = before;
        return Err(error.context(text!("setting-conflict")));
    }
    let change = move |session: &mut Session| {
        session.policy.clone_from(&changed.policy);
        session.overrides.clone_from(&changed.overrides);
    };
    Ok(chat.runner.agent.live_mut().change(change).await?)
}

#[cfg(test)]
mod tests {
    use super::key_and_value;

    #[test]
    fn a_setting_is_written_with_a_blank_or_an_equals_sign() {
        for text in ["fold.high 60%", "fold.high=60%", "fold.high = 60%"] {
            assert_eq!(key_and_value(text), ("fold.high", "60%"), "{text}");
        }
        assert_eq!(key_and_value("fold.high"), ("fold.high", ""));
    }
}
