//! `/config`: shows the settings of the session and changes them. An invalid value is refused with
//! the allowed range.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use futures_util::future::LocalBoxFuture;
use waterline_agent::approval::Mode;
use waterline_config::seed::{SEEDS, Seed};
use waterline_config::{ConfigError, Overrides};
use waterline_log::Session;

use super::{Next, Spec};
use crate::chat::Chat;
use crate::settings;
use crate::text;

pub(super) const SPEC: Spec = Spec {
    names: &["config"],
    takes: "[key [value]]",
    run: |chat, rest| -> LocalBoxFuture<'_, Result<Next>> { Box::pin(run(chat, rest)) },
};

/// Settings that are not keys of the policy.
pub(in crate::chat) const SETTINGS: [&str; 4] = ["policy", "model", "approval", "agent_max_steps"];

async fn run(chat: &mut Chat, rest: &str) -> Result<Next> {
    let (key, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match (key, value.trim()) {
        ("", _) => all(chat),
        (key, "") => {
            let shown = get(chat, key)?;
            chat.screen.print_line(&format!("{key} = {shown}"));
        }
        (key, value) => {
            let before = get(chat, key)?;
            set(chat, key, value).await?;
            let after = get(chat, key)?;
            chat.screen.print_line(&format!("{key}: {before} → {after}"));
        }
    }
    Ok(Next::Prompt)
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
        "agent_max_steps" | "agent.steps" => agent.config().limits.steps.to_string(),
        key => {
            let seed = seed(chat, key)?;
            let first = seed.and_then(|seed| seed.keys.first().copied()).unwrap_or(key);
            match agent.live().policy().setting(first) {
                Some(value) => value.to_string(),
                None if super::policy_keys::is_key(first) => text!("setting-not-set"),
                None if key.contains('.') => bail!(super::policy_keys::unknown(key)),
                None => bail!(text!("setting-unknown", key = key, settings = SETTINGS.join(", "))),
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
            chat.assembly.overrides.approval =
                Some(value.parse::<Mode>().map_err(anyhow::Error::msg)?)
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
            if let Err(error) = check(&policy, &changed) {
                let low = lower_mark(key, value).ok_or_else(|| anyhow::Error::from(error))?;
                changed.overrides.insert(LOW_MARK.to_owned(), low.clone());
                check(&policy, &changed)?;
                chat.screen.print_note(&text!("setting-adjusted", key = LOW_MARK, value = low));
            }
            let overrides = chat.assembly.overrides.clone();
            store(chat, overrides, changed).await?;
        }
    }
    chat.reopen().await
}

/// The mark that a fold reaches; it must be below [`HIGH_MARK`].
const LOW_MARK: &str = "fold.low";

/// The mark above which a fold happens.
const HIGH_MARK: &str = "fold.high";

/// Checks that a policy accepts the keys of a session.
fn check(policy: &str, changed: &Session) -> Result<(), ConfigError> {
    let all: Vec<(String, String)> = changed.overrides.clone().into_iter().collect();
    settings::policy(policy, &all).map(drop)
}

/// Returns a low mark that fits a new high mark: two thirds of it.
fn lower_mark(key: &str, value: &str) -> Option<String> {
    let value = Some(value).filter(|_| key == HIGH_MARK)?;
    let (digits, unit) = value.strip_suffix('%').map_or((value, ""), |digits| (digits, "%"));
    let high = digits.trim().parse::<u64>().ok()?;
    Some(format!("{}{unit}", high.saturating_mul(2) / 3))
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
    use super::lower_mark;

    #[test]
    fn the_low_mark_follows_the_high_mark() {
        assert_eq!(lower_mark("fold.high", "50%").as_deref(), Some("33%"));
        assert_eq!(lower_mark("fold.high", "9000").as_deref(), Some("6000"));
        assert_eq!(lower_mark("fold.high", "many"), None);
        assert_eq!(lower_mark("fold.low", "50%"), None);
    }
}
