//! [`Assembly`] turns settings and overrides into models, tools, servers, skills, roles and limits,
//! and builds agents from them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use waterline_agent::approval;
use waterline_agent::mcp::{self, Server, ServerProblem, ServerProblemKind, Transport};
use waterline_agent::role::{self, Role};
use waterline_agent::skill;
use waterline_agent::tool::Toolbox;
use waterline_agent::{
    AgentBuilder, AgentConfig, AgentError, DEFAULT_POLICY, InstructionFiles, ModelPolicy, Policies,
};
use waterline_log::Log;
use waterline_memory::Memory;
use waterline_sandbox::small_file::Directory;
use waterline_sandbox::{Shell, Support, Toolchains, support};
use waterline_session::SessionConfig;

use crate::agent::{AgentSettings, COMMAND_TIMEOUT, McpSettings, MiddlewareEntry, Middlewares};
use crate::config::Config;
use crate::consent;
use crate::encoders::RecallEncoders;
use crate::environment::{Environment, PROVIDER_KEYS};
use crate::error::ConfigError;
use crate::models::Models;
use crate::notice::Notice;
use crate::overrides::Overrides;
use crate::policy;
use crate::seed::SEEDS;
use crate::settings::{self, ModelSettings};
use crate::trust;

/// The directory in a project that holds skills and roles.
const PROJECT_DIRECTORY: &str = ".waterline";

/// The user's own instruction file, in the user's config directory.
const INSTRUCTIONS: &str = "AGENTS.md";

/// Environment variables that commands may see: they hold no secrets.
const COMMAND_VARIABLES: [&str; 9] =
    ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", "SHELL", "COLUMNS"];

/// The models, tools, servers, skills, roles and limits that all agents of a program share. It is
/// created once; the agents of many sessions are built from it.
#[derive(Clone)]
pub struct Assembly {
    /// The merged settings.
    pub config: Config,
    /// The caller's overrides. Call [`Assembly::reload_models`] after changing them.
    pub overrides: Overrides,
    /// The agents' configuration before limits and policies are applied.
    base: AgentConfig,
}

impl Assembly {
    /// Resolves the models, connects to the servers and reads skills and roles. Returns notices
    /// for the user with the result.
    ///
    /// # Errors
    /// When a model, a key, a role or a middleware cannot be used.
    pub async fn new(
        config: Config,
        overrides: Overrides,
    ) -> Result<(Self, Vec<Notice>), ConfigError> {
        let (session, model_notices) = session_config(&config, &overrides).await?;
        let (base, mut notices) = base_agent_config(&config, &overrides, session).await?;
        notices.extend(model_notices);
        Ok((Self { config, overrides, base }, notices))
    }

    /// Resolves the models again after the overrides have changed.
    ///
    /// # Errors
    /// When a model or a key cannot be used.
    pub async fn reload_models(&mut self) -> Result<(), ConfigError> {
        // The notices were shown when the program started.
        let (session, _) = session_config(&self.config, &self.overrides).await?;
        // The encoders do not depend on the model, and loading them takes time.
        let encoders = self.base.session.encoders.take();
        self.base.session = SessionConfig { encoders, ..session };
        Ok(())
    }

    /// Returns an agent's configuration, with limits, rules, policies and middlewares applied.
    ///
    /// # Errors
    /// When a rule, a middleware or the role cannot be used.
    pub fn agent_config(&self) -> Result<AgentConfig, ConfigError> {
        let mut agent = self.base.clone();
        limit(&mut agent, &self.config.settings.agent, &self.overrides)?;
        settle(&mut agent, &self.config.environment, &self.overrides);
        agent.policies = policies(&self.config, &self.overrides);
        agent.apply_settings()?;
        if let Some(name) = &self.overrides.role {
            role::named(&agent.roles, name)?;
        }
        Ok(agent)
    }

    /// Returns a builder for an agent whose session is in `log`.
    ///
    /// # Errors
    /// The same as [`Assembly::agent_config`].
    pub fn builder(&self, log: Log) -> Result<AgentBuilder, ConfigError> {
        Ok(AgentBuilder::new(log, self.agent_config()?)
            .user(self.overrides.user.clone())
            .role(self.overrides.role.clone()))
    }
}

/// Collects the policies chosen by the caller, by the settings and for single models.
fn policies(config: &Config, overrides: &Overrides) -> Policies {
    let own = |(name, model): (&String, &ModelSettings)| {
        let keys = model.set.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        (name.clone(), ModelPolicy { name: model.policy.clone(), keys })
    };
    let known = config
        .clone()
        .with_own_policy(overrides.policy.as_deref())
        .with_own_policy(config.preferred.name.as_deref());
    Policies {
        caller: overrides.policy.clone(),
        keys: overrides.sets.clone(),
        user: config.preferred.clone(),
        config: config.settings.policy.clone(),
        models: config.settings.models.iter().map(own).collect(),
        load: Arc::new(move |name, keys| {
            policy::load(name, keys, &known).map_err(|error| error.full_text())
        }),
        ..Policies::default()
    }
}

/// Resolves the models, the default policy, the memory and the encoders. Returns notices about the
/// models.
async fn session_config(
    config: &Config,
    overrides: &Overrides,
) -> Result<(SessionConfig, Vec<Notice>), ConfigError> {
    let models = Models { config };
    let policy = policy::load(DEFAULT_POLICY, &[], config)?;
    let model = models.primary(&overrides.model).await?;
    let (mut fallback, notices) = models.fallback();
    let mut summariser = models.summariser()?;
    join_all(fallback.iter_mut().chain(&mut summariser).map(|target| models.add_facts(target)))
        .await;
    let mut session = SessionConfig { fallback, summariser, ..SessionConfig::new(model, policy) };
    session.options.max_tokens = overrides.max_tokens;
    session.memory = memory(config, overrides)?.map(Arc::new);
    session.encoders = RecallEncoders::find(config)?.into_encoders().map(Arc::new);
    Ok((session, notices))
}

/// Returns the user's memory, unless it is switched off.
fn memory(config: &Config, overrides: &Overrides) -> Result<Option<Memory>, ConfigError> {
    let setting = config.settings.memory.as_ref();
    if overrides.memory.is_none() && setting.is_some_and(|setting| !setting.is_on()) {
        return Ok(None);
    }
    let directory = overrides.memory.clone().or_else(|| setting?.directory().cloned());
    let root = match directory {
        Some(directory) => directory,
        None => config.environment.data_directory()?,
    };
    let extracts = setting.is_some_and(settings::Memory::extracts);
    let memory = Memory::of_user(&root, overrides.user.as_deref());
    Ok(Some(memory.with_extraction(extracts)))
}

/// Adds tools, servers, skills and roles. Returns notices about them.
async fn base_agent_config(
    config: &Config,
    overrides: &Overrides,
    session: SessionConfig,
) -> Result<(AgentConfig, Vec<Notice>), ConfigError> {
    waterline_sandbox::hide();
    let settings = &config.settings.agent;
    let support = support();
    let shell = shell(config, overrides, &support);
    let mut agent = AgentConfig::new(session, Toolbox::new(Arc::new(shell)), workspaces(config)?);
    let mut notices = Vec::new();
    if let Support::None(why) = &support {
        notices.push(Notice::Unconfined(why.clone()));
    }
    agent.offline = Some(config.offline.clone());
    let model_config = config.clone();
    agent.models = Arc::new(move |name| {
        Models { config: &model_config }.find(name).map_err(|error| error.full_text())
    });
    agent.approval.confined = support == Support::Full;
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

fn shell(config: &Config, overrides: &Overrides, support: &Support) -> Shell {
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
    shell.network = overrides.network(agent);
    shell.limits = agent.resource_limits();
    shell.unprotected = agent.writable_protected.clone();
    shell.toolchains = Toolchains::find(&home, |name| environment.of_process(name));
    shell.timeout = Duration::from_secs(agent.command_timeout.unwrap_or(COMMAND_TIMEOUT));
    shell
}

/// Applies the limits, the approval rules and the granted directories.
fn limit(
    config: &mut AgentConfig,
    agent: &AgentSettings,
    overrides: &Overrides,
) -> Result<(), ConfigError> {
    let limits = &mut config.limits;
    limits.steps = overrides.steps.or(agent.steps).unwrap_or(limits.steps);
    limits.iterations = agent.iterations;
    limits.time = agent.time.map(Duration::from_secs);
    config.clock = agent.clock.unwrap_or(true);
    config.checkpoints = agent.checkpoints.unwrap_or(true);
    let approval = &mut config.approval;
    approval.mode = overrides.approval.or(agent.approval).unwrap_or_default();
    approval.time = agent.approval_timeout.map(Duration::from_secs).or(approval.time);
    let rules =
        agent.rules.iter().map(|rule| approval::rule(&rule.tool, &rule.pattern, rule.answer));
    approval.rules = rules.collect::<Result<_, _>>()?;
    approval.unprotected.clone_from(&agent.writable_protected);
    config.grants = agent.allow_dirs.iter().chain(&overrides.allow_dirs).cloned().collect();
    config.window = overrides.model.window;
    Ok(())
}

/// Sets the directory that the agent works in, its instruction files, and what the user decided
/// about changes there.
fn settle(config: &mut AgentConfig, environment: &Arc<Environment>, overrides: &Overrides) {
    config.directory.clone_from(&overrides.directory);
    let user = environment.user_directory().map(|directory| directory.join(INSTRUCTIONS));
    let project = overrides.directory.as_ref();
    let project = project.map(|working| (working.grant.path.clone(), working.path.clone()));
    config.instructions = InstructionFiles::new(user, project);
    config.approval.directories = consent::changeable(environment);
    let environment = Arc::clone(environment);
    // The approval is valid for this session even if it cannot be stored.
    config.approval.remember = Some(Arc::new(move |directory| {
        drop(consent::store(&environment, directory, |consent| consent.changes = true));
    }));
}

/// Returns the directory of the workspaces.
///
/// # Errors
/// When none is set and there is no data directory.
pub fn workspaces(config: &Config) -> Result<PathBuf, ConfigError> {
    match &config.settings.agent.workspaces {
        Some(directory) => Ok(directory.clone()),
        None => Ok(config.environment.data_directory()?.join("workspaces")),
    }
}

/// Returns the directories of skills: the user's, then the project's.
#[must_use]
pub fn skill_directories(environment: &Environment) -> Vec<Directory> {
    let user =
        environment.user_directory().map(|directory| Directory::own(directory.join("skills")));
    user.into_iter().chain([project_directory("skills", environment)]).collect()
}

/// Returns the project's directory of skills or roles.
fn project_directory(kind: &str, environment: &Environment) -> Directory {
    Directory::of_project(environment.directory(), PathBuf::from(PROJECT_DIRECTORY).join(kind))
}

/// Returns the built-in roles, the user's roles, and those roles of the project whose names are
/// free. A project, perhaps from someone else, cannot replace a role of the user.
///
/// # Errors
/// When one of the user's roles is invalid.
pub fn roles(environment: &Environment) -> Result<(Vec<Role>, Vec<Notice>), ConfigError> {
    let mut notices = Vec::new();
    let user = environment.user_directory().map(|directory| directory.join("roles"));
    let mut all = role::find(user.as_slice())?;
    let project = match role::read(&project_directory("roles", environment)) {
        Ok(project) => project,
        Err(error) => {
            notices.push(Notice::Roles(error.to_string()));
            Vec::new()
        }
    };
    for role in project {
        if all.iter().any(|known| known.name == role.name) {
            notices.push(Notice::RoleTaken(role.name));
        } else {
            all.push(role);
        }
    }
    Ok((all, notices))
}

/// Returns notices about environment variables: keys that came with the directory, and settings
/// that have no effect.
fn environment_notices(config: &Config, overrides: &Overrides) -> Vec<Notice> {
    let environment = &config.environment;
    let keys = PROVIDER_KEYS
        .into_iter()
        .filter(|name| environment.is_of_file(name))
        .map(Notice::KeyFromEnvFile);
    let preferred = config.preferred.name.as_deref();
    let policy = overrides.policy.as_deref().or(preferred).or(config.settings.policy.as_deref());
    let policy = policy.unwrap_or(DEFAULT_POLICY);
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

/// Returns the MCP servers that are not disabled.
#[must_use]
pub fn servers(config: &Config) -> Vec<Server> {
    let enabled = config.settings.mcp.iter().filter(|(_, own)| !own.off);
    enabled.map(|(name, own)| server(name, own, &config.environment)).collect()
}

fn server(name: &str, own: &McpSettings, environment: &Environment) -> Server {
    let variable = |name: &str| environment.variable(name);
    let transport = match (&own.command, &own.url) {
        (Some(program), _) => {
            let defaults = ["PATH", "HOME", "LANG"]
                .into_iter()
                .filter_map(|name| Some((name.to_owned(), variable(name)?)));
            let variables: BTreeMap<String, String> = defaults.chain(own.env.clone()).collect();
            Transport::Command {
                program: program.clone(),
                arguments: own.args.clone(),
                environment: variables,
                directory: start_directory(own.cwd.as_deref(), environment),
            }
        }
        (None, url) => {
            let headers = own
                .header_env
                .iter()
                .filter_map(|(header, name)| Some((header.clone(), variable(name)?)));
            Transport::Http { url: url.clone().unwrap_or_default(), headers: headers.collect() }
        }
    };
    let timeout = Duration::from_secs(own.timeout.unwrap_or(60));
    Server { name: name.to_owned(), transport, tools: own.tools.clone(), timeout }
}

/// Returns the directory a server starts in: the home directory, unless the user's config sets
/// another. It is never the working directory: many programs run files they find there, and those
/// may come from someone else.
fn start_directory(cwd: Option<&Path>, environment: &Environment) -> PathBuf {
    let home = environment.home().filter(|home| home.is_dir());
    let home = home.unwrap_or_else(|| PathBuf::from("/"));
    match cwd {
        Some(cwd) => cwd.strip_prefix("~").map_or_else(|_| cwd.to_owned(), |rest| home.join(rest)),
        None => home,
    }
}

/// Adds the tools of a server. If it cannot be reached, that becomes a notice, not an error.
async fn connect(server: &Server, agent: &mut AgentConfig, notices: &mut Vec<Notice>) {
    match mcp::connect(server).await {
        Ok(connected) => {
            for name in connected.missing {
                let kind = ServerProblemKind::NoTool(name);
                notices.push(Notice::Server(ServerProblem { server: server.name.clone(), kind }));
            }
            notices.extend(connected.refused.into_iter().map(Notice::Server));
            for tool in connected.tools {
                notices.extend(agent.toolbox.add(tool).err().map(Notice::from));
            }
        }
        Err(problem) => notices.push(Notice::Server(problem)),
    }
}
