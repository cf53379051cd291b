//! [`Assembly`]: settings and overrides → models → tools, servers, skills, roles, limits → the
//! builder of an agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use waterline_agent::approval;
use waterline_agent::mcp::{self, Server, Transport};
use waterline_agent::role::{self, Role};
use waterline_agent::skill;
use waterline_agent::tool::Toolbox;
use waterline_agent::{
    AgentBuilder, AgentConfig, AgentError, DEFAULT_POLICY, ModelPolicy, Policies,
};
use waterline_log::Log;
use waterline_sandbox::small_file::Folder;
use waterline_sandbox::{Shell, Support, support};
use waterline_session::SessionConfig;
use waterline_session::memory::{DayFiles, Sink};

use crate::agent::{AgentSettings, COMMAND_TIMEOUT, McpSettings, MiddlewareEntry, Middlewares};
use crate::config::Config;
use crate::environment::{Environment, PROVIDER_KEYS};
use crate::error::ConfigError;
use crate::models::Models;
use crate::notice::Notice;
use crate::overrides::Overrides;
use crate::policy;
use crate::settings::{Memory, ModelSettings};
use crate::trust;

/// The directory of a project that holds skills and roles.
const PROJECT: &str = ".waterline";

/// Variables that commands may see: they hold no secrets.
const SEEN: [&str; 9] =
    ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", "SHELL", "COLUMNS"];

/// What all agents of a program are made with: models, tools, servers, skills, roles, limits. It is
/// made once; agents of many sessions are built from it.
#[derive(Clone)]
pub struct Assembly {
    /// The settings.
    pub config: Config,
    /// What the caller sets above them. After a change, [`Assembly::reload_models`] finds the
    /// models anew.
    pub overrides: Overrides,
    /// What agents are made with, before limits and middlewares.
    base: AgentConfig,
}

impl Assembly {
    /// Finds the models, connects the servers, reads skills and roles. Returns what the user should
    /// know about them.
    ///
    /// # Errors
    /// When a model, a key, a role or a middleware cannot be used.
    pub async fn new(
        config: Config,
        overrides: Overrides,
    ) -> Result<(Self, Vec<Notice>), ConfigError> {
        let (setup, models) = setup(&config, &overrides).await?;
        let (base, mut notices) = gather(&config, &overrides, setup).await?;
        notices.extend(models);
        Ok((Self { config, overrides, base }, notices))
    }

    /// Finds the models anew, after the overrides were changed.
    ///
    /// # Errors
    /// When a model or a key cannot be used.
    pub async fn reload_models(&mut self) -> Result<(), ConfigError> {
        // The notices were shown when the program began.
        let (setup, _) = setup(&self.config, &self.overrides).await?;
        self.base.session = setup;
        Ok(())
    }

    /// What an agent is made with: all of this, with limits, rules, policies and middlewares
    /// applied.
    ///
    /// # Errors
    /// When a rule, a middleware or the role cannot be used.
    pub fn agent_config(&self) -> Result<AgentConfig, ConfigError> {
        let mut agent = self.base.clone();
        limit(&mut agent, &self.config.settings.agent, &self.overrides)?;
        agent.policies = policies(&self.config, &self.overrides);
        agent.apply_settings()?;
        if let Some(name) = &self.overrides.role {
            role::named(&agent.roles, name)?;
        }
        Ok(agent)
    }

    /// The builder of an agent with a session in a log.
    ///
    /// # Errors
    /// As [`Assembly::agent_config`].
    pub fn builder(&self, log: Log) -> Result<AgentBuilder, ConfigError> {
        Ok(AgentBuilder::new(log, self.agent_config()?).role(self.overrides.role.clone()))
    }
}

/// Where policies are named: by the caller, in the settings, for single models.
fn policies(config: &Config, overrides: &Overrides) -> Policies {
    let own = |(name, model): (&String, &ModelSettings)| {
        let keys = model.set.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        (name.clone(), ModelPolicy { name: model.policy.clone(), keys })
    };
    let environment = Arc::clone(&config.environment);
    Policies {
        caller: overrides.policy.clone(),
        keys: overrides.sets.clone(),
        config: config.settings.policy.clone(),
        models: config.settings.models.iter().map(own).collect(),
        load: Arc::new(move |name, keys| {
            policy::load(name, keys, &environment).map_err(|error| error.full_text())
        }),
        ..Policies::default()
    }
}

/// Models, the default policy and memory, and what the user should know about the models.
async fn setup(
    config: &Config,
    overrides: &Overrides,
) -> Result<(SessionConfig, Vec<Notice>), ConfigError> {
    let models = Models { config };
    let policy = policy::load(DEFAULT_POLICY, &[], &config.environment)?;
    let model = models.primary(&overrides.model).await?;
    let (fallback, notices) = models.fallback();
    let summariser = models.summariser()?;
    let mut setup = SessionConfig { fallback, summariser, ..SessionConfig::new(model, policy) };
    setup.options.max_tokens = overrides.max_tokens;
    let usual = || config.environment.data_directory().map(|directory| directory.join("memory"));
    let directory = match (&overrides.memory, &config.settings.memory) {
        (Some(directory), _) | (None, Some(Memory::Directory(directory))) => {
            Some(directory.clone())
        }
        (None, Some(Memory::On(true))) => Some(usual()?),
        (None, Some(Memory::On(false)) | None) => None,
    };
    setup.memory = directory.map(day_files);
    Ok((setup, notices))
}

fn day_files(directory: PathBuf) -> Arc<dyn Sink> {
    Arc::new(DayFiles::new(directory))
}

/// Returns the memory of policies that summarize for one, if the config does not name a directory
/// and does not switch memory off.
fn usual_memory(config: &Config) -> Option<Arc<dyn Sink>> {
    let is_unset = config.settings.memory.is_none();
    let directory = config.environment.data_directory().ok().filter(|_| is_unset);
    directory.map(|directory| day_files(directory.join("memory")))
}

/// Tools, servers, skills and roles; and what the user should know about them.
async fn gather(
    config: &Config,
    overrides: &Overrides,
    setup: SessionConfig,
) -> Result<(AgentConfig, Vec<Notice>), ConfigError> {
    waterline_sandbox::hide();
    let (settings, support) = (&config.settings.agent, support());
    let shell = shell(config, overrides, &support);
    let mut agent = AgentConfig::new(setup, Toolbox::new(Arc::new(shell)), workspaces(config)?);
    agent.usual_memory = usual_memory(config);
    let mut notices = Vec::new();
    if let Support::None(why) = &support {
        notices.push(Notice::Unconfined(why.clone()));
    }
    let finds = config.clone();
    agent.models = Arc::new(move |name| {
        Models { config: &finds }.find(name).map_err(|error| error.full_text())
    });
    agent.approval.confined = support == Support::Full;
    for server in servers(config) {
        connect(&server, &mut agent, &mut notices).await;
    }
    // A server that cannot be reached must not keep the program from starting.
    let enabled = settings.tools_on.iter().map(|name| (name, true));
    for (name, enabled) in enabled.chain(settings.tools_off.iter().map(|name| (name, false))) {
        if let Err(error) = agent.toolbox.switch(name, enabled) {
            notices.push(Notice::Other(error.to_string()));
        }
    }
    notices.extend(environment_notices(config));
    notices.extend(trust::notices(config));
    let (skills, about_skills) = skill::find(&skill_directories(&config.environment));
    agent.skills = skills;
    notices.extend(about_skills.into_iter().map(Notice::Other));
    let (roles, about_roles) = roles(&config.environment)?;
    agent.roles = roles;
    notices.extend(about_roles);
    add_middlewares(settings, &mut agent)?;
    Ok((agent, notices))
}

fn shell(config: &Config, overrides: &Overrides, support: &Support) -> Shell {
    let (agent, environment) = (&config.settings.agent, &config.environment);
    let names = SEEN.iter().copied().chain(agent.environment.iter().map(String::as_str));
    let seen = names.filter_map(|name| Some((name.to_owned(), environment.variable(name)?)));
    let path = environment.variable("PATH").unwrap_or_default();
    let mut read = agent.read_dirs.clone();
    // A directory that holds the user's own files is no place for programs, whatever the PATH says.
    let home = environment.home().unwrap_or_default();
    read.extend(
        std::env::split_paths(&path)
            .filter(|entry| entry.is_absolute() && !home.starts_with(entry)),
    );
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
fn limit(
    config: &mut AgentConfig,
    agent: &AgentSettings,
    overrides: &Overrides,
) -> Result<(), ConfigError> {
    let limits = &mut config.limits;
    limits.steps = overrides.steps.or(agent.steps).unwrap_or(limits.steps);
    limits.iterations = agent.iterations;
    limits.time = agent.time.map(Duration::from_secs);
    let approval = &mut config.approval;
    approval.mode = overrides.approval.or(agent.approval).unwrap_or_default();
    approval.time = agent.approval_timeout.map_or(approval.time, Duration::from_secs);
    let rules =
        agent.rules.iter().map(|rule| approval::rule(&rule.tool, &rule.pattern, rule.answer));
    approval.rules = rules.collect::<Result<_, _>>()?;
    config.grants = agent.allow_dirs.iter().chain(&overrides.allow_dirs).cloned().collect();
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

/// The roles: shipped ones and the user's, and those of the project under names that are free. A
/// directory from someone else does not change what a role of the user's is.
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

/// What a user should know about variables: a key that came with the directory, a setting that has
/// no effect.
fn environment_notices(config: &Config) -> Vec<Notice> {
    let environment = &config.environment;
    let keys = PROVIDER_KEYS
        .into_iter()
        .filter(|name| environment.is_of_file(name))
        .map(Notice::KeyFromEnvFile);
    let policy = config.settings.policy.as_deref().unwrap_or("auto");
    let unused = policy::SEEDS.iter().filter(|seed| seed.preset != policy);
    let unused = unused.filter(|seed| environment.variable(seed.variable).is_some()).map(|seed| {
        Notice::UnusedVariable {
            variable: seed.variable,
            preset: seed.preset,
            policy: policy.to_owned(),
        }
    });
    keys.chain(unused).collect()
}

/// Adds the middlewares and settings that a config names.
fn add_middlewares(agent: &AgentSettings, into: &mut AgentConfig) -> Result<(), AgentError> {
    let usual = Middlewares::Preset("default".to_owned());
    let named: Vec<(String, serde_json::Value)> = match agent.middleware.as_ref().unwrap_or(&usual)
    {
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
    named.iter().try_for_each(|(name, settings)| into.add(name, settings))
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
            let usual = ["PATH", "HOME", "LANG"]
                .into_iter()
                .filter_map(|name| Some((name.to_owned(), variable(name)?)));
            let variables: BTreeMap<String, String> = usual.chain(own.env.clone()).collect();
            Transport::Command {
                program: program.clone(),
                arguments: own.args.clone(),
                environment: variables,
                folder: start_directory(own.cwd.as_deref(), environment),
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

/// Where a server starts: in the home directory, unless the user's config says otherwise. Not in
/// the working directory: many programs run what is there, and it may come from someone else.
fn start_directory(cwd: Option<&Path>, environment: &Environment) -> PathBuf {
    let home = environment.home().filter(|home| home.is_dir());
    let home = home.unwrap_or_else(|| PathBuf::from("/"));
    match cwd {
        Some(cwd) => cwd.strip_prefix("~").map_or_else(|_| cwd.to_owned(), |rest| home.join(rest)),
        None => home,
    }
}

/// Adds the tools of a server. A server that cannot be reached is reported, and the rest is used.
async fn connect(server: &Server, agent: &mut AgentConfig, notices: &mut Vec<Notice>) {
    match mcp::connect(server).await {
        Ok(connected) => {
            for name in &connected.missing {
                notices.push(Notice::Other(format!(
                    "the server {} has no tool {name:?}",
                    server.name
                )));
            }
            for tool in connected.tools {
                if let Err(error) = agent.toolbox.add(tool) {
                    notices.push(Notice::Other(error.to_string()));
                }
            }
        }
        Err(why) => notices.push(Notice::Other(why)),
    }
}
