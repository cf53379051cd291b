//! What all agents of a program share: tools, servers, skills, roles and middlewares.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use waterline_agent::skill;
use waterline_agent::tool::Toolbox;
use waterline_agent::{AgentConfig, AgentError, Cause, DEFAULT_POLICY, FindModel, Offline};
use waterline_sandbox::{Shell, Support, Toolchains, UserGit, support};
use waterline_session::SessionConfig;

use super::directories::{roles, skill_directories, workspaces};
use super::servers::{connect, servers};
use crate::agent::{AgentSettings, COMMAND_TIMEOUT, MiddlewareEntry, Middlewares};
use crate::config::Config;
use crate::environment::provider_keys;
use crate::error::ConfigError;
use crate::models::Models;
use crate::notice::Notice;
use crate::overrides::Overrides;
use crate::seed::SEEDS;
use crate::trust;

/// Environment variables that commands may see: they hold no secrets.
const COMMAND_VARIABLES: [&str; 9] =
    ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", "SHELL", "COLUMNS"];

/// Adds tools, servers, skills and roles. Returns notices about them.
pub(super) async fn base_agent_config(
    config: &Config,
    overrides: &Overrides,
    offline: &Offline,
    session: SessionConfig,
) -> Result<(AgentConfig, Vec<Notice>), ConfigError> {
    waterline_sandbox::hide();
    let settings = &config.settings.agent;
    let support = support();
    let shell = Arc::new(shell(config, &support));
    let probed = Arc::clone(&shell);
    let toolbox = Toolbox::new(shell);
    let mut agent = AgentConfig::new(session, toolbox, workspaces(config)?);
    let mut notices = Vec::new();
    if let Support::None(why) = &support {
        notices.push(Notice::Unconfined(why.clone()));
    }
    agent.models = find_model(config, offline);
    agent.approval.confined = support == Support::Full;
    // Few commands depend on this, so the kernel is probed only when the first of them runs.
    let is_open = OnceLock::new();
    let probe = move || *is_open.get_or_init(|| !probed.has_mount_namespace());
    agent.approval.attributes = Some(Arc::new(probe));
    for server in servers(config) {
        connect(&server, &mut agent, &mut notices).await;
    }
    // A tool may be missing because its server cannot be reached, which must not keep the program
    // from starting.
    let on = settings.tools_on.iter().map(|name| (name, true));
    let off = settings.tools_off.iter().map(|name| (name, false));
    for (name, enabled) in on.chain(off) {
        notices.extend(agent.toolbox.switch(name, enabled).err().map(Notice::from));
    }
    notices.extend(environment_notices(config, overrides));
    notices.extend(trust::notices(config));
    let (skills, skill_notices) = skill::find(&skill_directories(&config.environment));
    agent.skills = skills;
    notices.extend(skill_notices.into_iter().map(Notice::Skill));
    let (roles, role_notices) = roles(&config.environment)?;
    agent.roles = roles;
    notices.extend(role_notices);
    add_middlewares(settings, &mut agent)?;
    Ok((agent, notices))
}

/// Returns the function that finds the models of roles and fallbacks.
fn find_model(config: &Config, offline: &Offline) -> FindModel {
    let config = config.clone();
    let offline = offline.clone();
    Arc::new(move |name| {
        Models::with_offline(&config, offline.clone()).find(name).map_err(Cause::from)
    })
}

fn shell(config: &Config, support: &Support) -> Shell {
    let agent = &config.settings.agent;
    let environment = &config.environment;
    let own_names = agent.environment.iter().map(String::as_str);
    let names = COMMAND_VARIABLES.iter().copied().chain(own_names);
    let variables = names.filter_map(|name| Some((name.to_owned(), environment.variable(name)?)));
    let path = environment.variable("PATH").unwrap_or_default();
    let mut read = agent.read_dirs.clone();
    // Parents of the home directory hold the user's own files and are never readable, even if PATH
    // lists them.
    let home = environment.home().unwrap_or_default();
    read.extend(
        std::env::split_paths(&path)
            .filter(|entry| entry.is_absolute() && !home.starts_with(entry)),
    );
    // Resolved once, at the start: later a command may have replaced a directory with a link.
    let read = read.iter().filter_map(|entry| entry.canonicalize().ok()).collect();
    let mut shell = Shell::new();
    shell.confined = *support == Support::Full;
    shell.environment = variables.collect();
    shell.read = read;
    shell.limits = agent.resource_limits();
    shell.unprotected = agent.writable_protected.clone();
    shell.toolchains = Toolchains::find(&home, |name| environment.of_process(name));
    shell.git = Some(UserGit::new(|name| environment.of_process(name)));
    shell.timeout = Duration::from_secs(agent.command_timeout.unwrap_or(COMMAND_TIMEOUT));
    shell
}

/// Returns notices about environment variables: keys that came with the directory, and settings
/// that have no effect.
fn environment_notices(config: &Config, overrides: &Overrides) -> Vec<Notice> {
    let environment = &config.environment;
    let keys = provider_keys()
        .into_iter()
        .filter(|name| environment.is_of_file(name))
        .map(Notice::KeyFromEnvFile);
    let preferred = config.preferred.name.as_deref();
    let policy = overrides
        .policy
        .as_deref()
        .or(preferred)
        .or(config.settings.policy.as_deref())
        .unwrap_or(DEFAULT_POLICY);
    let unused = SEEDS
        .iter()
        .filter(|seed| config.settings.seeds.contains_key(seed.variable) && !seed.is_for(policy))
        .map(|seed| Notice::UnusedVariable {
            variable: seed.variable,
            preset: seed.presets.join(", "),
            policy: policy.to_owned(),
        });
    keys.chain(unused).collect()
}

/// Adds the middlewares that a config selects.
fn add_middlewares(agent: &AgentSettings, into: &mut AgentConfig) -> Result<(), AgentError> {
    let default = Middlewares::Preset("default".to_owned());
    let chosen = agent.middleware.as_ref().unwrap_or(&default);
    let named: Vec<(String, serde_json::Value)> = match chosen {
        Middlewares::Preset(name) => waterline_agent::preset(name)?
            .into_iter()
            .map(|(name, settings)| (name.to_owned(), settings))
            .collect(),
        Middlewares::List(list) => list
            .iter()
            .map(|entry| match entry {
                MiddlewareEntry::Name(name) => (name.clone(), serde_json::Value::Null),
                MiddlewareEntry::With(name, settings) => {
                    (name.clone(), serde_json::to_value(settings).unwrap_or_default())
                }
            })
            .collect(),
    };
    named.iter().try_for_each(|(name, settings)| into.add(name, settings))?;
    // Added last, so that a key of its own overrides the entry of a preset.
    let own = [
        ("model_retry", &agent.model_retry),
        ("tool_retry", &agent.tool_retry),
        ("tool_selector", &agent.tool_selector),
    ];
    for (name, table) in own {
        if let Some(table) = table {
            into.add(name, &serde_json::to_value(table).unwrap_or_default())?;
        }
    }
    Ok(())
}
