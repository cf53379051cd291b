//! What an agent is made with, from flags, config and environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use waterline_agent::approval::{self, Mode};
use waterline_agent::mcp::{self, Server, Transport};
use waterline_agent::middleware;
use waterline_agent::role::{self, Role};
use waterline_agent::skill;
use waterline_agent::tool::Toolbox;
use waterline_agent::{AgentConfig, AgentError};
use waterline_log::Session;
use waterline_sandbox::small_file::Folder;
use waterline_sandbox::{Grant, Shell, Support, support};
use waterline_session::Setup;
use waterline_session::memory::DayFiles;

use crate::config::{self, AgentSettings, Config, McpConfig, Middlewares};
use crate::db;
use crate::environment::{self, variable};
use crate::lang::{Lang, say};
use crate::models::{self, Chosen, ModelArguments};
use crate::settings;
use crate::trust;

/// The folder of a project that holds skills and roles.
const PROJECT: &str = ".waterline";

/// Variables that commands may see: they hold no secrets.
const SEEN: [&str; 9] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", "SHELL", "COLUMNS"];

/// How long a command may take if nothing is said, in seconds.
pub const COMMAND_TIME: u64 = 120;

/// What an agent is to be, as flags say it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AgentArguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// The policy: a preset or a file (default: the one the session was begun with, else from the config, else auto)
    #[arg(long)]
    pub policy: Option<String>,
    /// Sets a key of the policy, such as fold.high=60%
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = settings::setting)]
    pub sets: Vec<(String, String)>,
    /// The most tokens of an answer
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
    /// The folder of the day's memory files (default: from the config, else none)
    #[arg(long, value_name = "FOLDER")]
    pub memory: Option<PathBuf>,
    /// The role: init, execute, or one of your own
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// Lets the agent reach a folder beside its workspace; FOLDER:ro only to read
    #[arg(long = "allow-dir", value_name = "FOLDER")]
    pub allow_dirs: Vec<Grant>,
    /// When you are asked before a call: all, selective, custom, none
    #[arg(long, value_name = "MODE")]
    pub approval: Option<Mode>,
    /// Lets commands use the network
    #[arg(long)]
    pub allow_network: bool,
    /// Agrees, for this run, to the addresses that waterline.toml of this folder sends the conversation to
    #[arg(long)]
    pub trust_project: bool,
    /// The language of what the program says: en, zh (default: from the locale)
    #[arg(long)]
    pub lang: Option<Lang>,
}

impl AgentArguments {
    /// The equipment for a session: a known one keeps its policy, its settings and its role.
    pub async fn equipment(&self, config: &Config, known: Option<&Session>) -> Result<AgentConfig> {
        let (setup, notices) = self.setup(config, known).await?;
        let mut gathered = self.gather(config, setup).await?;
        gathered.notices.extend(notices);
        self.for_session(gathered, config)
    }

    /// What every session of this program is made with: tools, servers, skills, roles, limits.
    pub async fn gather(&self, config: &Config, setup: Setup) -> Result<AgentConfig> {
        let agent = &config.agent;
        waterline_sandbox::hide();
        let support = support();
        let shell = self.shell(agent, &support);
        let mut equipment = AgentConfig::new(setup, Toolbox::new(Arc::new(shell)), workspaces(agent)?);
        if let Support::None(why) = &support {
            let en = format!("the kernel cannot confine commands here ({why}); you are asked before each");
            let zh = format!("此处内核无法隔离命令（{why}）；每条命令执行前都会询问");
            equipment.notices.push(say(en, zh));
        }
        let (finds, chooses) = (config.clone(), self.chosen(config, None));
        equipment.models =
            Arc::new(move |name| models::find(name, &finds, &chooses).map_err(|error| format!("{error:#}")));
        equipment.approval.confined = support == Support::Full;
        for server in servers(&config.mcp) {
            connect(&server, &mut equipment).await;
        }
        // A server that is away must not keep the program from starting.
        let switches =
            agent.tools_on.iter().map(|name| (name, true)).chain(agent.tools_off.iter().map(|name| (name, false)));
        for (name, enabled) in switches {
            if let Err(error) = equipment.toolbox.switch(name, enabled) {
                equipment.notices.push(error.to_string());
            }
        }
        equipment.notices.extend(environment_notices(config));
        equipment.notices.extend(trust::notices(config));
        let (skills, notices) = skill::find(&folders("skills"));
        equipment.skills = skills;
        equipment.notices.extend(notices);
        let (roles, notices) = roles()?;
        equipment.roles = roles;
        equipment.notices.extend(notices);
        equipment.middleware = middlewares(agent)?;
        Ok(equipment)
    }

    /// The same for one session: what it may do, its middlewares set up.
    pub fn for_session(&self, mut equipment: AgentConfig, config: &Config) -> Result<AgentConfig> {
        self.limit(&mut equipment, &config.agent)?;
        equipment.equip()?;
        if let Some(name) = &self.role {
            role::named(&equipment.roles, name)?;
        }
        Ok(equipment)
    }

    /// The policy that holds, with what the session set otherwise.
    fn chosen(&self, config: &Config, known: Option<&Session>) -> Chosen {
        let begun = known.and_then(|session| session.policy.clone());
        let overrides = known.map(|session| session.overrides.clone()).unwrap_or_default();
        let sets = overrides.into_iter().chain(self.sets.iter().cloned()).collect();
        Chosen { flag: self.policy.clone(), config: begun.or_else(|| config.policy.clone()), sets }
    }

    /// The policy that a new session is begun with.
    pub fn first_policy(&self, config: &Config) -> String {
        self.chosen(config, None).name().to_owned()
    }

    /// Model, policy and memory of a session, and what somebody should know about them.
    pub async fn setup(&self, config: &Config, known: Option<&Session>) -> Result<(Setup, Vec<String>)> {
        let chosen = &self.chosen(config, known);
        let policy = chosen.policy()?;
        let model = self.model.candidate(config, chosen).await?;
        let (fallback, notices) = models::fallback(config, chosen);
        let summariser = models::summariser(config, chosen)?;
        let mut setup = Setup { fallback, summariser, ..Setup::new(model, policy) };
        setup.options.max_tokens = self.max_tokens;
        if let Some(folder) = self.memory.as_ref().or(config.memory.as_ref()) {
            setup.memory = Some(Arc::new(DayFiles::new(folder)));
        }
        Ok((setup, notices))
    }

    fn shell(&self, agent: &AgentSettings, support: &Support) -> Shell {
        let names = SEEN.iter().copied().chain(agent.environment.iter().map(String::as_str));
        let seen = names.filter_map(|name| Some((name.to_owned(), variable(name)?)));
        let path = variable("PATH").unwrap_or_default();
        let mut read = agent.read_dirs.clone();
        // A folder that holds the user's own files is no place for programs, whatever the PATH says.
        let home = variable("HOME").map(PathBuf::from).unwrap_or_default();
        read.extend(std::env::split_paths(&path).filter(|folder| folder.is_absolute() && !home.starts_with(folder)));
        // Once, at the start: later a command may have put a link in place of a folder.
        let read = read.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        let mut shell = Shell::new();
        shell.confined = *support == Support::Full;
        shell.environment = seen.collect();
        shell.read = read;
        shell.network = self.allow_network || agent.network.unwrap_or(false);
        shell.timeout = Duration::from_secs(agent.command_timeout.unwrap_or(COMMAND_TIME));
        shell
    }

    /// What it may do, and who is asked.
    fn limit(&self, equipment: &mut AgentConfig, agent: &AgentSettings) -> Result<()> {
        let limits = &mut equipment.limits;
        limits.steps = agent.steps.unwrap_or(limits.steps);
        limits.iterations = agent.iterations;
        limits.time = agent.time.map(Duration::from_secs);
        let approval = &mut equipment.approval;
        approval.mode = self.approval.or(agent.approval).unwrap_or_default();
        approval.time = agent.approval_timeout.map_or(approval.time, Duration::from_secs);
        let rules = agent.rules.iter().map(|rule| approval::rule(&rule.tool, &rule.pattern, rule.answer));
        approval.rules = rules.collect::<Result<_, _>>()?;
        equipment.grants = agent.allow_dirs.iter().chain(&self.allow_dirs).cloned().collect();
        Ok(())
    }
}

/// The folder of the workspaces.
pub fn workspaces(agent: &AgentSettings) -> Result<PathBuf> {
    match &agent.workspaces {
        Some(folder) => Ok(folder.clone()),
        None => Ok(db::data_folder()?.join("workspaces")),
    }
}

/// The folders of skills or roles: the user's, then the project's.
pub fn folders(kind: &str) -> Vec<Folder> {
    let user = config::folder().map(|folder| Folder::own(folder.join(kind)));
    user.into_iter().chain([of_project(kind)]).collect()
}

/// The project's folder of skills or roles.
fn of_project(kind: &str) -> Folder {
    Folder::of_project(".", PathBuf::from(PROJECT).join(kind))
}

/// The roles: shipped ones and the user's, and those of the project under names that are free. A folder from somebody else does not
/// change what a role of the user's is.
pub fn roles() -> Result<(Vec<Role>, Vec<String>)> {
    let mut notices = Vec::new();
    let user = config::folder().map(|folder| folder.join("roles"));
    let mut all = role::find(user.as_slice())?;
    let own = match role::read(&of_project("roles")) {
        Ok(own) => own,
        Err(error) => {
            notices.push(error.to_string());
            Vec::new()
        }
    };
    for role in own {
        if all.iter().any(|known| known.name == role.name) {
            notices.push(format!("the role {} of the project is left out: there is one of that name", role.name));
        } else {
            all.push(role);
        }
    }
    Ok((all, notices))
}

/// What somebody should know about variables: a key that came with the folder, a setting that has no effect.
fn environment_notices(config: &Config) -> Vec<String> {
    let mut notices = Vec::new();
    for name in environment::PROVIDER_KEYS {
        if matches!(environment::find(name), Some((_, environment::Origin::File))) {
            notices.push(say(
                format!("{name} comes from {}", environment::FILE),
                format!("{name} 来自 {}", environment::FILE),
            ));
        }
    }
    let policy = config.policy.as_deref().unwrap_or("auto");
    for seed in settings::SEEDS.iter().filter(|seed| seed.preset != policy) {
        if variable(seed.variable).is_some() {
            let (name, preset) = (seed.variable, seed.preset);
            let en = format!("{name} is for the policy {preset}; with {policy} it has no effect");
            notices.push(say(en, format!("{name} 属于策略 {preset}；在 {policy} 下无效")));
        }
    }
    notices
}

/// The middlewares that a config names.
fn middlewares(agent: &AgentSettings) -> Result<Vec<Arc<dyn middleware::Middleware>>, AgentError> {
    use config::MiddlewareEntry as Entry;
    let usual = Middlewares::Preset("default".to_owned());
    let named: Vec<(String, serde_json::Value)> = match agent.middleware.as_ref().unwrap_or(&usual) {
        Middlewares::Preset(name) => {
            middleware::preset(name)?.into_iter().map(|(name, settings)| (name.to_owned(), settings)).collect()
        }
        Middlewares::List(list) => list
            .iter()
            .map(|entry| match entry {
                Entry::Name(name) => (name.clone(), serde_json::Value::Null),
                Entry::With(name, settings) => (name.clone(), serde_json::to_value(settings).unwrap_or_default()),
            })
            .collect(),
    };
    named.iter().map(|(name, settings)| middleware::build(name, settings)).collect()
}

/// The servers of a config that are not switched off.
pub fn servers(config: &BTreeMap<String, McpConfig>) -> Vec<Server> {
    let server = |(name, own): (&String, &McpConfig)| {
        let transport = match (&own.command, &own.url) {
            (Some(program), _) => {
                let usual =
                    ["PATH", "HOME", "LANG"].iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
                let environment = usual.chain(own.env.clone()).collect();
                let (arguments, folder) = (own.args.clone(), starts_in(own.cwd.as_deref()));
                Transport::Command { program: program.clone(), arguments, environment, folder }
            }
            (None, url) => {
                let headers =
                    own.header_env.iter().filter_map(|(header, name)| Some((header.clone(), variable(name)?)));
                Transport::Http { url: url.clone().unwrap_or_default(), headers: headers.collect() }
            }
        };
        let timeout = Duration::from_secs(own.timeout.unwrap_or(60));
        Server { name: name.clone(), transport, tools: own.tools.clone(), timeout }
    };
    config.iter().filter(|(_, own)| !own.off).map(server).collect()
}

/// Where a server starts: in the home folder, unless the user's config says otherwise. Not where the program is started: many
/// programs run what lies there, and a folder may come from somebody else.
fn starts_in(cwd: Option<&Path>) -> PathBuf {
    let home = variable("HOME").map(PathBuf::from).filter(|home| home.is_dir());
    let home = home.unwrap_or_else(|| PathBuf::from("/"));
    match cwd {
        Some(cwd) => cwd.strip_prefix("~").map_or_else(|_| cwd.to_owned(), |rest| home.join(rest)),
        None => home,
    }
}

/// Adds the tools of a server; one that cannot be reached is said, and the rest goes on.
async fn connect(server: &Server, equipment: &mut AgentConfig) {
    match mcp::connect(server).await {
        Ok(connected) => {
            for name in &connected.missing {
                equipment.notices.push(format!("the server {} has no tool {name:?}", server.name));
            }
            for tool in connected.tools {
                if let Err(error) = equipment.toolbox.add(tool) {
                    equipment.notices.push(error.to_string());
                }
            }
        }
        Err(why) => equipment.notices.push(why),
    }
}
