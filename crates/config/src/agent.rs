//! The `[agent]` and `[mcp.NAME]` sections of a config file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Error, Unexpected};
use waterline::phrase;
use waterline_agent::approval::{Mode, Ruling};
use waterline_agent::{DEFAULT_POLICY, Limits};
use waterline_sandbox::network::Host;
use waterline_sandbox::protected::NAMES;
use waterline_sandbox::workspace::Grant;
use waterline_sandbox::{Network, ResourceLimits};

use crate::error::{ConfigError, whole_up_to};
use crate::notice::Notice;
use crate::workspace_choice::WorkspaceChoice;

/// The default time limit of a command, in seconds.
pub(crate) const COMMAND_TIMEOUT: u64 = 120;

/// The number of days after which a clean-up removes an unused workspace, unless the config sets
/// another.
pub const DEFAULT_WORKSPACE_DAYS: u64 = 7;

/// The `[agent]` section: limits, tools and permissions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentSettings {
    /// Maximum number of model calls in one turn. With the policy `chat` the default is 15.
    pub steps: Option<usize>,
    /// Maximum number of model calls since the session was opened.
    pub iterations: Option<usize>,
    /// Time limit of one turn, in seconds.
    pub time: Option<u64>,
    /// Whether each step of a turn writes a checkpoint.
    pub checkpoints: Option<bool>,
    /// Whether the model is given the time.
    pub clock: Option<bool>,
    /// Tools that are enabled in addition to the default ones.
    pub tools_on: Vec<String>,
    /// Tools that are disabled.
    pub tools_off: Vec<String>,
    /// Which calls need approval: `all`, `selective`, `custom` or `none`.
    pub approval: Option<Mode>,
    /// Seconds to wait for an approval; after that the call is denied. Without it there is no
    /// limit.
    pub approval_timeout: Option<u64>,
    /// The user's approval rules.
    pub rules: Vec<RuleSettings>,
    /// The middlewares: the name of a preset, or a list of names, each with optional settings.
    pub middleware: Option<Middlewares>,
    /// Seconds to wait before a model call is retried: `rate_limit` and `transient`, a list each.
    pub model_retry: Option<toml::Table>,
    /// Milliseconds to wait before a tool with a temporary error is run again: `waits`, a list.
    pub tool_retry: Option<toml::Table>,
    /// Which tools are described in full: `max_tools`, a number, and `always`, a list of names.
    pub tool_selector: Option<toml::Table>,
    /// Directories whose files the agent may access in addition to the workspace.
    #[serde(deserialize_with = "grants")]
    pub allow_dirs: Vec<Grant>,
    /// Directories that commands may read.
    pub read_dirs: Vec<PathBuf>,
    /// Whether commands may use the network, or the hosts that they may reach.
    pub network: Option<NetworkSettings>,
    /// Protected paths that commands may change in granted directories, such as `.git`.
    pub writable_protected: Vec<String>,
    /// Maximum number of processes and threads of a command.
    pub max_processes: Option<u64>,
    /// Maximum memory of a command in megabytes; by default half of the machine's, at most 16,000.
    pub max_memory: Option<u64>,
    /// Maximum number of open files of each process of a command.
    pub max_open_files: Option<u64>,
    /// Maximum size of a file that a command writes, in megabytes; by default a quarter of the free
    /// space, at most 5,000.
    pub max_file_size: Option<u64>,
    /// Maximum space that files may take up on a disk while a command runs, in megabytes; by
    /// default three quarters of the free space.
    pub max_disk: Option<u64>,
    /// Time limit of a command, in seconds, unless the call asks for another.
    pub command_timeout: Option<u64>,
    /// Environment variables that commands see in addition to the default ones.
    pub environment: Vec<String>,
    /// Where the agent works unless the caller says otherwise: `here` or `private`.
    pub workspace: Option<WorkspaceChoice>,
    /// The directory of the workspaces.
    pub workspaces: Option<PathBuf>,
    /// Days after which unused workspaces are removed at the start of a chat, without their
    /// `outputs/`; never unless set.
    pub workspace_days: Option<u64>,
    /// Days after which unused sessions are removed; never unless set.
    pub session_days: Option<u64>,
}

/// What commands may reach over the network.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected true, false or a list of hosts")]
pub enum NetworkSettings {
    /// Everything, or nothing.
    All(bool),
    /// These hosts: `crates.io`, `*.pypi.org`, `localhost:8080`.
    Hosts(Vec<String>),
}

impl NetworkSettings {
    /// Returns what commands may reach.
    #[must_use]
    pub fn network(&self) -> Network {
        match self {
            Self::All(true) => Network::Any,
            Self::All(false) => Network::Off,
            Self::Hosts(hosts) if hosts.is_empty() => Network::Off,
            Self::Hosts(hosts) => Network::Hosts(hosts.clone()),
        }
    }
}

/// An approval rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RuleSettings {
    /// The tool's name, or `*` for any tool.
    pub tool: String,
    /// A regular expression that the arguments must match; empty matches anything.
    #[serde(default)]
    pub pattern: String,
    /// `allow`, `ask` or `deny`.
    pub answer: Ruling,
}

/// The middlewares that a config file selects.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected the name of a list of middlewares, or a list")]
pub enum Middlewares {
    /// The name of a preset list.
    Preset(String),
    /// An explicit list.
    List(Vec<MiddlewareEntry>),
}

/// One middleware: a name, or a name with settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected the name of a middleware, or a name with a table")]
pub enum MiddlewareEntry {
    /// A middleware with its default settings.
    Name(String),
    /// A middleware with explicit settings.
    With(String, toml::Value),
}

/// An MCP server: either a program to start or a URL.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpSettings {
    /// The program to start.
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// Environment variables of the program in addition to PATH, HOME and LANG.
    pub env: BTreeMap<String, String>,
    /// The directory the program starts in; the home directory by default.
    pub cwd: Option<PathBuf>,
    /// The URL of a server that is already running.
    pub url: Option<String>,
    /// HTTP headers, each taken from an environment variable: `Authorization = "MY_TOKEN_HEADER"`.
    pub header_env: BTreeMap<String, String>,
    /// The tools to enable; all of them by default.
    pub tools: Option<Vec<String>>,
    /// Time limit of a call, in seconds.
    pub timeout: Option<u64>,
    /// Disables the server.
    pub off: bool,
}

/// Parses directories written as `PATH`, or `PATH:ro` for read-only access.
fn grants<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Grant>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let invalid = |text| D::Error::invalid_value(Unexpected::Str(text), &"DIR or DIR:ro");
    texts.iter().map(|text| text.parse::<Grant>().map_err(|_| invalid(text))).collect()
}

impl AgentSettings {
    /// Rejects values outside their range.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let counts = [
            ("steps", self.steps.map(|n| n as u64), 1_000),
            ("iterations", self.iterations.map(|n| n as u64), 100_000),
            ("time", self.time, 86_400),
            ("approval_timeout", self.approval_timeout, 86_400),
            ("command_timeout", self.command_timeout, 600),
            ("workspace_days", self.workspace_days, 36_500),
            ("session_days", self.session_days, 36_500),
            ("max_processes", self.max_processes, 1_000_000),
            ("max_memory", self.max_memory, 100_000_000),
            ("max_open_files", self.max_open_files, 1_000_000),
            ("max_file_size", self.max_file_size, 1_000_000_000),
            ("max_disk", self.max_disk, 1_000_000_000),
        ];
        for (name, value, max) in counts {
            if let Some(value) = value.filter(|value| !(1..=max).contains(value)) {
                let allowed = whole_up_to(max);
                return Err(ConfigError::range(format!("agent.{name}"), value, allowed));
            }
        }
        if let Some(NetworkSettings::Hosts(hosts)) = &self.network
            && let Some(host) = hosts.iter().find(|host| host.parse::<Host>().is_err())
        {
            let allowed = phrase!(
                "allowed-hosts",
                "a list of names such as crates.io, *.pypi.org or HOST:PORT"
            );
            return Err(ConfigError::range(
                "agent.network".to_owned(),
                format!("{host:?}"),
                allowed,
            ));
        }
        let mut names = self.writable_protected.iter();
        if let Some(name) = names.find(|name| !NAMES.contains(&name.as_str())) {
            let allowed = phrase!(
                "allowed-protected",
                "a list of protected paths: {names}",
                names = NAMES.join(", ")
            );
            let key = "agent.writable_protected".to_owned();
            return Err(ConfigError::range(key, format!("{name:?}"), allowed));
        }
        Ok(())
    }

    /// Returns the limits on the resources of a command.
    pub(crate) fn resource_limits(&self) -> ResourceLimits {
        const MEGABYTE: u64 = 1_000_000;
        let mut limits = ResourceLimits::default();
        limits.processes = self.max_processes.unwrap_or(limits.processes);
        limits.memory = self.max_memory.map(|size| size * MEGABYTE);
        limits.open_files = self.max_open_files.unwrap_or(limits.open_files);
        limits.file_bytes = self.max_file_size.map(|size| size * MEGABYTE);
        limits.disk_bytes = self.max_disk.map(|size| size * MEGABYTE);
        limits
    }

    /// Returns the first key that a project's file may not set, because it could widen what the
    /// agent may do.
    pub(crate) fn widening_key(&self) -> Option<&'static str> {
        let widening = [
            ("approval", self.approval.is_some()),
            ("approval_timeout", self.approval_timeout.is_some()),
            ("rules", !self.rules.is_empty()),
            ("middleware", self.middleware.is_some()),
            ("model_retry", self.model_retry.is_some()),
            ("tool_retry", self.tool_retry.is_some()),
            ("tool_selector", self.tool_selector.is_some()),
            ("tools_on", !self.tools_on.is_empty()),
            ("allow_dirs", !self.allow_dirs.is_empty()),
            ("read_dirs", !self.read_dirs.is_empty()),
            ("network", self.network.is_some()),
            ("writable_protected", !self.writable_protected.is_empty()),
            ("max_processes", self.max_processes.is_some()),
            ("max_memory", self.max_memory.is_some()),
            ("max_open_files", self.max_open_files.is_some()),
            ("max_file_size", self.max_file_size.is_some()),
            ("max_disk", self.max_disk.is_some()),
            ("environment", !self.environment.is_empty()),
            ("workspace", self.workspace.is_some()),
            ("workspaces", self.workspaces.is_some()),
            ("workspace_days", self.workspace_days.is_some()),
            ("session_days", self.session_days.is_some()),
        ];
        widening.into_iter().find(|(_, set)| *set).map(|(name, _)| name)
    }

    /// Lowers the limits of a file that came with a directory to what the user allows. Returns a
    /// notice for each lowered limit.
    pub(crate) fn narrow(&mut self, user: &Self, file: &'static str) -> Vec<Notice> {
        let steps = user.steps.unwrap_or(Limits::default().steps_under(DEFAULT_POLICY));
        let command_timeout = user.command_timeout.unwrap_or(COMMAND_TIMEOUT);
        let iterations = user.iterations.unwrap_or(usize::MAX);
        let time = user.time.unwrap_or(u64::MAX);
        let lowered = [
            at_most("agent.steps", &mut self.steps, steps, file),
            at_most("agent.command_timeout", &mut self.command_timeout, command_timeout, file),
            at_most("agent.iterations", &mut self.iterations, iterations, file),
            at_most("agent.time", &mut self.time, time, file),
        ];
        lowered.into_iter().flatten().collect()
    }

    /// Returns these settings overridden by newer ones; lists are joined.
    pub(crate) fn merge(self, newer: Self) -> Self {
        fn join<T>(older: Vec<T>, newer: Vec<T>) -> Vec<T> {
            older.into_iter().chain(newer).collect()
        }
        Self {
            steps: newer.steps.or(self.steps),
            iterations: newer.iterations.or(self.iterations),
            time: newer.time.or(self.time),
            checkpoints: newer.checkpoints.or(self.checkpoints),
            clock: newer.clock.or(self.clock),
            tools_on: join(self.tools_on, newer.tools_on),
            tools_off: join(self.tools_off, newer.tools_off),
            approval: newer.approval.or(self.approval),
            approval_timeout: newer.approval_timeout.or(self.approval_timeout),
            rules: join(newer.rules, self.rules),
            middleware: newer.middleware.or(self.middleware),
            model_retry: newer.model_retry.or(self.model_retry),
            tool_retry: newer.tool_retry.or(self.tool_retry),
            tool_selector: newer.tool_selector.or(self.tool_selector),
            allow_dirs: join(self.allow_dirs, newer.allow_dirs),
            read_dirs: join(self.read_dirs, newer.read_dirs),
            network: newer.network.or(self.network),
            writable_protected: join(self.writable_protected, newer.writable_protected),
            max_processes: newer.max_processes.or(self.max_processes),
            max_memory: newer.max_memory.or(self.max_memory),
            max_open_files: newer.max_open_files.or(self.max_open_files),
            max_file_size: newer.max_file_size.or(self.max_file_size),
            max_disk: newer.max_disk.or(self.max_disk),
            command_timeout: newer.command_timeout.or(self.command_timeout),
            environment: join(self.environment, newer.environment),
            workspace: newer.workspace.or(self.workspace),
            workspaces: newer.workspaces.or(self.workspaces),
            workspace_days: newer.workspace_days.or(self.workspace_days),
            session_days: newer.session_days.or(self.session_days),
        }
    }
}

/// Lowers a value to what is allowed. Returns a notice if it was higher.
fn at_most<T: Copy + Ord + fmt::Display>(
    key: &str,
    value: &mut Option<T>,
    allowed: T,
    file: &'static str,
) -> Option<Notice> {
    let wanted = value.filter(|wanted| *wanted > allowed)?;
    *value = Some(allowed);
    Some(Notice::Narrowed {
        key: key.to_owned(),
        file,
        wanted: wanted.to_string(),
        allowed: allowed.to_string(),
    })
}

impl McpSettings {
    pub(crate) fn check(&self, name: &str) -> Result<(), ConfigError> {
        if self.command.is_some() == self.url.is_some() {
            return Err(ConfigError::Server(name.to_owned()));
        }
        match self.cwd.as_ref().filter(|cwd| !(cwd.is_absolute() || cwd.starts_with("~"))) {
            Some(cwd) => {
                let allowed = phrase!("allowed-absolute", "an absolute path or start with ~/");
                Err(ConfigError::range(format!("mcp.{name}.cwd"), format!("{cwd:?}"), allowed))
            }
            None => Ok(()),
        }
    }
}
