//! What an agent is made with: models, tools, servers, skills, roles and limits, from settings and overrides.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use waterline_agent::approval;
use waterline_agent::mcp::{self, Server, Transport};
use waterline_agent::middleware;
use waterline_agent::role::{self, Role};
use waterline_agent::skill;
use waterline_agent::tool::Toolbox;
use waterline_agent::{AgentConfig, AgentError};
use waterline_log::Session;
use waterline_sandbox::small_file::Folder;
use waterline_sandbox::{Shell, Support, support};
use waterline_session::Setup;
use waterline_session::memory::DayFiles;

use crate::agent::{AgentSettings, COMMAND_TIMEOUT, McpSettings, MiddlewareEntry, Middlewares};
use crate::config::Config;
use crate::environment::{Environment, PROVIDER_KEYS};
use crate::error::ConfigError;
use crate::models::{Chosen, Models};
use crate::notice::Notice;
use crate::overrides::Overrides;
use crate::policy;
use crate::trust;

/// The directory of a project that holds skills and roles.
const PROJECT: &str = ".waterline";

/// Variables that commands may see: they hold no secrets.
const SEEN: [&str; 9] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", "SHELL", "COLUMNS"];

/// The policy that holds for a session, with what it sets differently.
fn chosen(config: &Config, overrides: &Overrides, known: Option<&Session>) -> Chosen {
    let begun = known.and_then(|session| session.policy.clone());
    let own = known.map(|session| session.overrides.clone()).unwrap_or_default();
    let sets = own.into_iter().chain(overrides.sets.iter().cloned()).collect();
    Chosen { flag: overrides.policy.clone(), config: begun.or_else(|| config.settings.policy.clone()), sets }
}

/// The policy that a new session starts with.
#[must_use]
pub fn first_policy(config: &Config, overrides: &Overrides) -> String {
    chosen(config, overrides, None).name().to_owned()
}

/// Model, policy and memory of a session, and what the user should know about them.
///
/// # Errors
/// When a model, a policy or a key cannot be used.
pub async fn setup(
    config: &Config,
    overrides: &Overrides,
    known: Option<&Session>,
) -> Result<(Setup, Vec<Notice>), ConfigError> {
    let models = Models { config, policy: chosen(config, overrides, known) };
    let policy = models.policy.policy(&config.environment)?;
    let model = models.primary(&overrides.model).await?;
    let (fallback, notices) = models.fallback();
    let summariser = models.summariser()?;
    let mut setup = Setup { fallback, summariser, ..Setup::new(model, policy) };
    setup.options.max_tokens = overrides.max_tokens;
    if let Some(directory) = overrides.memory.as_ref().or(config.settings.memory.as_ref()) {
        setup.memory = Some(Arc::new(DayFiles::new(directory)));
    }
    Ok((setup, notices))
}

/// What every session of this program is made with: tools, servers, skills, roles, limits; and what the user should
/// know about them.
///
/// # Errors
/// When a role or a middleware cannot be used.
pub async fn gather(
    config: &Config,
    overrides: &Overrides,
    setup: Setup,
) -> Result<(AgentConfig, Vec<Notice>), ConfigError> {
    let agent = &config.settings.agent;
    waterline_sandbox::hide();
    let support = support();
    let shell = shell(config, overrides, &support);
    let mut equipment = AgentConfig::new(setup, Toolbox::new(Arc::new(shell)), workspaces(config)?);
    let mut notices = Vec::new();
    if let Support::None(why) = &support {
        notices.push(Notice::Unconfined(why.clone()));
    }
    let (finds, policy) = (config.clone(), chosen(config, overrides, None));
    equipment.models = Arc::new(move |name| {
        let models = Models { config: &finds, policy: policy.clone() };
        models.find(name).map_err(|error| error.full_text())
    });
    equipment.approval.confined = support == Support::Full;
    for server in servers(config) {
        connect(&server, &mut equipment, &mut notices).await;
    }
    // A server that cannot be reached must not keep the program from starting.
    let switches =
        agent.tools_on.iter().map(|name| (name, true)).chain(agent.tools_off.iter().map(|name| (name, false)));
    for (name, enabled) in switches {
        if let Err(error) = equipment.toolbox.switch(name, enabled) {
            notices.push(Notice::Other(error.to_string()));
        }
    }
    notices.extend(environment_notices(config));
    notices.extend(trust::notices(config));
    let (skills, told) = skill::find(&skill_directories(&config.environment));
    equipment.skills = skills;
    notices.extend(told.into_iter().map(Notice::Other));
    let (roles, told) = roles(&config.environment)?;
    equipment.roles = roles;
    notices.extend(told);
    equipment.middleware = middlewares(agent)?;
    Ok((equipment, notices))
}

/// The same for one session: what it may do, with its middlewares applied.
///
/// # Errors
/// When a rule, a middleware or the role cannot be used.
pub fn for_session(
    mut equipment: AgentConfig,
    config: &Config,
    overrides: &Overrides,
) -> Result<AgentConfig, ConfigError> {
    limit(&mut equipment, &config.settings.agent, overrides)?;
    equipment.equip()?;
    if let Some(name) = &overrides.role {
        role::named(&equipment.roles, name)?;
    }
    Ok(equipment)
}

fn shell(config: &Config, overrides: &Overrides, support: &Support) -> Shell {
    let (agent, environment) = (&config.settings.agent, &config.environment);
    let names = SEEN.iter().copied().chain(agent.environment.iter().map(String::as_str));
    let seen = names.filter_map(|name| Some((name.to_owned(), environment.variable(name)?)));
    let path = environment.variable("PATH").unwrap_or_default();
    let mut read = agent.read_dirs.clone();
    // A directory that holds the user's own files is no place for programs, whatever the PATH says.
    let home = environment.home().unwrap_or_default();
    read.extend(std::env::split_paths(&path).filter(|entry| entry.is_absolute() && !home.starts_with(entry)));
    // Once, at the start: later a command may have put a link in place of a directory.
    let read = read.iter().filter_map(|entry| entry.canonicalize().ok()).collect();
    let mut shell = Shell::new();
    shell.confined = *support == Support::Full;
    shell.environment = seen.collect();
    shell.read = read;
    shell.network = overrides.allow_network || agent.network.unwrap_or(false);
    shell.timeout = Duration::from_secs(agent.command_timeout.unwrap_or(COMMAND_TIMEOUT));
    shell
}

/// What it may do, and which calls need approval.
fn limit(equipment: &mut AgentConfig, agent: &AgentSettings, overrides: &Overrides) -> Result<(), ConfigError> {
    let limits = &mut equipment.limits;
    limits.steps = overrides.steps.or(agent.steps).unwrap_or(limits.steps);
    limits.iterations = agent.iterations;
    limits.time = agent.time.map(Duration::from_secs);
    let approval = &mut equipment.approval;
    approval.mode = overrides.approval.or(agent.approval).unwrap_or_default();
    approval.time = agent.approval_timeout.map_or(approval.time, Duration::from_secs);
    let rules = agent.rules.iter().map(|rule| approval::rule(&rule.tool, &rule.pattern, rule.answer));
    approval.rules = rules.collect::<Result<_, _>>()?;
    equipment.grants = agent.allow_dirs.iter().chain(&overrides.allow_dirs).cloned().collect();
    Ok(())
}

/// The directory of the workspaces.
///
/// # Errors
/// When none is set and there is no data directory.
pub fn workspaces(config: &Config) -> Result<PathBuf, ConfigError> {
    match &config.settings.agent.workspaces {
        Some(directory) => Ok(directory.clone()),
        None => Ok(config.environment.data_directory()?.join("workspaces")),
    }
}

/// The directories of skills: the user's, then the project's.
#[must_use]
pub fn skill_directories(environment: &Environment) -> Vec<Folder> {
    let user = environment.user_directory().map(|directory| Folder::own(directory.join("skills")));
    user.into_iter().chain([of_project("skills", environment)]).collect()
}

/// The project's directory of skills or roles.
fn of_project(kind: &str, environment: &Environment) -> Folder {
    Folder::of_project(environment.directory(), PathBuf::from(PROJECT).join(kind))
}

/// The roles: shipped ones and the user's, and those of the project under names that are free. A directory from
/// someone else does not change what a role of the user's is.
///
/// # Errors
/// When a role of the user's cannot be used.
pub fn roles(environment: &Environment) -> Result<(Vec<Role>, Vec<Notice>), ConfigError> {
    let mut notices = Vec::new();
    let user = environment.user_directory().map(|directory| directory.join("roles"));
    let mut all = role::find(user.as_slice())?;
    let own = match role::read(&of_project("roles", environment)) {
        Ok(own) => own,
        Err(error) => {
            notices.push(Notice::Other(error.to_string()));
            Vec::new()
        }
    };
    for role in own {
        if all.iter().any(|known| known.name == role.name) {
            notices.push(Notice::RoleTaken(role.name));
        } else {
            all.push(role);
        }
    }
    Ok((all, notices))
}

/// What a user should know about variables: a key that came with the directory, a setting that has no effect.
fn environment_notices(config: &Config) -> Vec<Notice> {
    let environment = &config.environment;
    let keys = PROVIDER_KEYS.into_iter().filter(|name| environment.is_of_file(name)).map(Notice::KeyFromEnvFile);
    let policy = config.settings.policy.as_deref().unwrap_or("auto");
    let unused = policy::SEEDS.iter().filter(|seed| seed.preset != policy);
    let unused = unused
        .filter(|seed| environment.variable(seed.variable).is_some())
        .map(|seed| Notice::UnusedVariable { variable: seed.variable, preset: seed.preset, policy: policy.to_owned() });
    keys.chain(unused).collect()
}

/// The middlewares that a config names.
fn middlewares(agent: &AgentSettings) -> Result<Vec<Arc<dyn middleware::Middleware>>, AgentError> {
    let usual = Middlewares::Preset("default".to_owned());
    let named: Vec<(String, serde_json::Value)> = match agent.middleware.as_ref().unwrap_or(&usual) {
        Middlewares::Preset(name) => {
            middleware::preset(name)?.into_iter().map(|(name, settings)| (name.to_owned(), settings)).collect()
        }
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
    named.iter().map(|(name, settings)| middleware::build(name, settings)).collect()
}

/// The MCP servers that are not switched off.
#[must_use]
pub fn servers(config: &Config) -> Vec<Server> {
    let enabled = config.settings.mcp.iter().filter(|(_, own)| !own.off);
    enabled.map(|(name, own)| server(name, own, &config.environment)).collect()
}

fn server(name: &str, own: &McpSettings, environment: &Environment) -> Server {
    let variable = |name: &str| environment.variable(name);
    let transport = match (&own.command, &own.url) {
        (Some(program), _) => {
            let usual =
                ["PATH", "HOME", "LANG"].into_iter().filter_map(|name| Some((name.to_owned(), variable(name)?)));
            let variables: BTreeMap<String, String> = usual.chain(own.env.clone()).collect();
            Transport::Command {
                program: program.clone(),
                arguments: own.args.clone(),
                environment: variables,
                folder: start_directory(own.cwd.as_deref(), environment),
            }
        }
        (None, url) => {
            let headers = own.header_env.iter().filter_map(|(header, name)| Some((header.clone(), variable(name)?)));
            Transport::Http { url: url.clone().unwrap_or_default(), headers: headers.collect() }
        }
    };
    let timeout = Duration::from_secs(own.timeout.unwrap_or(60));
    Server { name: name.to_owned(), transport, tools: own.tools.clone(), timeout }
}

/// Where a server starts: in the home directory, unless the user's config says otherwise. Not in the working directory:
/// many programs run what is there, and it may come from someone else.
fn start_directory(cwd: Option<&Path>, environment: &Environment) -> PathBuf {
    let home = environment.home().filter(|home| home.is_dir());
    let home = home.unwrap_or_else(|| PathBuf::from("/"));
    match cwd {
        Some(cwd) => cwd.strip_prefix("~").map_or_else(|_| cwd.to_owned(), |rest| home.join(rest)),
        None => home,
    }
}

/// Adds the tools of a server. A server that cannot be reached is reported, and the rest is used.
async fn connect(server: &Server, equipment: &mut AgentConfig, notices: &mut Vec<Notice>) {
    match mcp::connect(server).await {
        Ok(connected) => {
            for name in &connected.missing {
                notices.push(Notice::Other(format!("the server {} has no tool {name:?}", server.name)));
            }
            for tool in connected.tools {
                if let Err(error) = equipment.toolbox.add(tool) {
                    notices.push(Notice::Other(error.to_string()));
                }
            }
        }
        Err(why) => notices.push(Notice::Other(why)),
    }
}
