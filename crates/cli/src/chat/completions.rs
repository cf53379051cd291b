//! The arguments of commands that can be completed.

use waterline::policy::{PRESETS, Policy};
use waterline_config::seed::SEEDS;
use waterline_log::{Artifact, Filter, Log, Session};

use super::{Chat, commands};
use crate::ids;
use crate::settings::{MODES, approval};

/// The number of sessions offered, the newest.
const SESSIONS: usize = 20;

/// Returns the arguments of each command, as far as they are known without more I/O: the words of
/// its synopsis, and values that only the chat knows.
pub(super) fn arguments(chat: &Chat, artifacts: &[Artifact]) -> Vec<(String, Vec<String>)> {
    let digits = |artifact: &Artifact| artifact.hash.chars().take(commands::ID_DIGITS).collect();
    let skills: Vec<String> =
        chat.runner.agent.config().skills.iter().map(|skill| skill.id.clone()).collect();
    let values = [
        ("help", commands::list().into_iter().map(|(name, _)| name).collect::<Vec<_>>()),
        ("config", settings(chat.runner.agent.live().policy())),
        ("config policy", PRESETS.iter().map(|preset| preset.name.to_owned()).collect()),
        ("config approval", MODES.iter().map(|mode| approval(*mode).to_owned()).collect()),
        ("config model", models(chat)),
        ("model", models(chat)),
        ("artifact", artifacts.iter().rev().map(digits).collect()),
        ("skill", skills.clone()),
        ("skills", skills),
    ];
    let values = values.into_iter().map(|(command, values)| (command.to_owned(), values));
    values.chain(commands::words()).collect()
}

/// Returns the keys of `/config`: its settings, those of the seeds, and the keys that the policy
/// sets.
fn settings(policy: &Policy) -> Vec<String> {
    let table = policy.text().parse::<toml::Table>().unwrap_or_default();
    let sections = table.iter().filter_map(|(section, keys)| Some((section, keys.as_table()?)));
    let keys =
        sections.flat_map(|(section, keys)| keys.keys().map(move |key| format!("{section}.{key}")));
    let seeds = SEEDS.iter().map(|seed| seed.variable.to_lowercase());
    let own = commands::SETTINGS.iter().map(|name| (*name).to_owned());
    own.chain(seeds).chain(keys).collect()
}

/// Returns the models named in the config, on the command line, or with `/model`.
fn models(chat: &Chat) -> Vec<String> {
    let config = &chat.assembly.config.settings;
    let named = [
        config.model.as_ref(),
        chat.first_model.model.as_ref(),
        Some(&chat.runner.agent.live().model().name),
    ];
    let others = config.fallback.iter().flatten().chain(config.models.keys());
    let mut all: Vec<String> = named.into_iter().flatten().chain(others).cloned().collect();
    all.sort();
    all.dedup();
    all
}

/// Returns the sessions used last, each with its title.
pub(super) fn sessions(log: &Log) -> Vec<(String, String)> {
    let all = log.sessions(&Filter::default()).unwrap_or_default();
    let conversations = all.into_iter().filter(Session::is_conversation);
    // An id with whitespace would be read as two arguments.
    let usable = conversations.filter(|session| !session.id.contains(char::is_whitespace));
    usable.take(SESSIONS).map(|session| (ids::long(&session.id), session.title)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_the_policy_are_offered() {
        let keys = settings(&Policy::preset("window").unwrap());
        assert_eq!(keys.first().unwrap(), "policy");
        assert!(keys.iter().any(|key| key == "window.messages"), "{keys:?}");
    }
}
