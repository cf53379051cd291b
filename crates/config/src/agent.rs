//! What files set about the agent and about MCP servers.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use waterline_agent::Limits;
use waterline_agent::approval::{Mode, Ruling};
use waterline_sandbox::workspace::Grant;

use crate::error::ConfigError;
use crate::notice::Notice;

/// How long a command may take if nothing is set, in seconds.
pub(crate) const COMMAND_TIMEOUT: u64 = 120;

/// Days after which a workspace is removed if nothing is set.
pub const DEFAULT_WORKSPACE_DAYS: u64 = 7;

/// What the agent may do.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentSettings {
    /// Model calls in one turn.
    pub steps: Option<usize>,
    /// Model calls since the session was opened.
    pub iterations: Option<usize>,
    /// Seconds of one turn.
    pub time: Option<u64>,
    /// Tools that are enabled in addition to the default ones.
    pub tools_on: Vec<String>,
    /// Tools that are disabled.
    pub tools_off: Vec<String>,
    /// When a person is asked before a call: all, selective, custom, none.
    pub approval: Option<Mode>,
    /// Seconds to wait for an answer; after that it counts as no.
    pub approval_timeout: Option<u64>,
    /// The user's rules on calls.
    pub rules: Vec<RuleSettings>,
    /// Middlewares: the name of a list, or a list of names, each alone or with its settings.
    pub middleware: Option<Middlewares>,
    /// Directories that files may be reached in, besides the workspace.
    #[serde(deserialize_with = "grants")]
    pub allow_dirs: Vec<Grant>,
    /// Directories that commands may read.
    pub read_dirs: Vec<PathBuf>,
    /// Whether commands may use the network.
    pub network: Option<bool>,
    /// Seconds a command may take unless it asks for another limit.
    pub command_timeout: Option<u64>,
    /// Variables that commands see in addition to the default ones.
    pub environment: Vec<String>,
    /// Where the workspaces are.
    pub workspaces: Option<PathBuf>,
    /// Days after which unused workspaces are removed.
    pub workspace_days: Option<u64>,
    /// Days after which unused sessions are removed; never unless set.
    pub session_days: Option<u64>,
}

/// A rule on calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSettings {
    /// The tool; `*` for any.
    pub tool: String,
    /// What its arguments look like, as a regular expression; anything unless set.
    #[serde(default)]
    pub pattern: String,
    /// allow, ask or deny.
    pub answer: Ruling,
}

/// Middlewares, as a config names them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Middlewares {
    /// A list by its name.
    Preset(String),
    /// One by one.
    List(Vec<MiddlewareEntry>),
}

/// One middleware: its name, or its name with its settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum MiddlewareEntry {
    /// With its usual settings.
    Name(String),
    /// With settings of its own.
    With(String, toml::Value),
}

/// An MCP server: a program, or an address.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpSettings {
    /// The program.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it sees in addition to PATH, HOME and LANG.
    pub env: BTreeMap<String, String>,
    /// The directory it starts in; the home directory unless set.
    pub cwd: Option<PathBuf>,
    /// The address.
    pub url: Option<String>,
    /// Headers, each from a variable: `Authorization = "MY_TOKEN_HEADER"`.
    pub header_env: BTreeMap<String, String>,
    /// The tools that are enabled; all unless set.
    pub tools: Option<Vec<String>>,
    /// Seconds a call may take.
    pub timeout: Option<u64>,
    /// Leave it out.
    pub off: bool,
}

/// Directories as `PATH`, or `PATH:ro` for reading only.
fn grants<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Grant>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| text.parse::<Grant>().map_err(serde::de::Error::custom)).collect()
}

impl AgentSettings {
    /// Refuses values outside their range.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let counts = [
            ("steps", self.steps.map(|n| n as u64), 1_000),
            ("iterations", self.iterations.map(|n| n as u64), 100_000),
            ("time", self.time, 86_400),
            ("approval_timeout", self.approval_timeout, 86_400),
            ("command_timeout", self.command_timeout, 600),
            ("workspace_days", self.workspace_days, 36_500),
            ("session_days", self.session_days, 36_500),
        ];
        for (name, value, most) in counts {
            if let Some(value) = value.filter(|value| !(1..=most).contains(value)) {
                let allowed = format!("a whole number from 1 to {most}");
                return Err(ConfigError::range(format!("agent.{name}"), value, allowed));
            }
        }
        Ok(())
    }

    /// The first key that a project's file may not set, because it could widen what the agent may
    /// do.
    pub(crate) fn widening_key(&self) -> Option<&'static str> {
        let widening = [
            ("approval", self.approval.is_some()),
            ("approval_timeout", self.approval_timeout.is_some()),
            ("rules", !self.rules.is_empty()),
            ("middleware", self.middleware.is_some()),
            ("tools_on", !self.tools_on.is_empty()),
            ("allow_dirs", !self.allow_dirs.is_empty()),
            ("read_dirs", !self.read_dirs.is_empty()),
            ("network", self.network.is_some()),
            ("environment", !self.environment.is_empty()),
            ("workspaces", self.workspaces.is_some()),
            ("workspace_days", self.workspace_days.is_some()),
            ("session_days", self.session_days.is_some()),
        ];
        widening.into_iter().find(|(_, set)| *set).map(|(name, _)| name)
    }

    /// Lowers the limits of a file that came with a directory to what the user allows. Returns what
    /// was lowered.
    pub(crate) fn narrow(&mut self, user: &Self, file: &'static str) -> Vec<Notice> {
        let steps = user.steps.unwrap_or(Limits::default().steps);
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

    /// These settings, overridden by newer ones; lists are joined.
    pub(crate) fn merge(self, newer: Self) -> Self {
        fn join<T>(older: Vec<T>, newer: Vec<T>) -> Vec<T> {
            older.into_iter().chain(newer).collect()
        }
        Self {
            steps: newer.steps.or(self.steps),
            iterations: newer.iterations.or(self.iterations),
            time: newer.time.or(self.time),
            tools_on: join(self.tools_on, newer.tools_on),
            tools_off: join(self.tools_off, newer.tools_off),
            approval: newer.approval.or(self.approval),
            approval_timeout: newer.approval_timeout.or(self.approval_timeout),
            rules: join(newer.rules, self.rules),
            middleware: newer.middleware.or(self.middleware),
            allow_dirs: join(self.allow_dirs, newer.allow_dirs),
            read_dirs: join(self.read_dirs, newer.read_dirs),
            network: newer.network.or(self.network),
            command_timeout: newer.command_timeout.or(self.command_timeout),
            environment: join(self.environment, newer.environment),
            workspaces: newer.workspaces.or(self.workspaces),
            workspace_days: newer.workspace_days.or(self.workspace_days),
            session_days: newer.session_days.or(self.session_days),
        }
    }
}

/// Lowers a value of a file to what is allowed; says so if it was higher.
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
                let allowed = "a whole path, or begin with ~/";
                Err(ConfigError::range(format!("mcp.{name}.cwd"), format!("{cwd:?}"), allowed))
            }
            None => Ok(()),
        }
    }
}
