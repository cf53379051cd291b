//! What files say about the agent and about servers that offer tools.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Deserialize;
use waterline_agent::Limits;
use waterline_agent::approval::{Mode, Ruling};
use waterline_sandbox::workspace::Grant;

use crate::equip::COMMAND_TIME;

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
    /// Tools that are switched on beside the usual ones.
    pub tools_on: Vec<String>,
    /// Tools that are switched off.
    pub tools_off: Vec<String>,
    /// When somebody is asked: all, selective, custom, none.
    pub approval: Option<Mode>,
    /// Seconds an answer may take; then it is no.
    pub approval_timeout: Option<u64>,
    /// Rules of one's own on calls.
    pub rules: Vec<RuleConfig>,
    /// Middlewares: the name of a list, or a list of names, each alone or with its settings.
    pub middleware: Option<Middlewares>,
    /// Folders that files may be reached in beside the workspace.
    #[serde(deserialize_with = "grants")]
    pub allow_dirs: Vec<Grant>,
    /// Folders that commands may look into.
    pub read_dirs: Vec<PathBuf>,
    /// Whether commands may use the network.
    pub network: Option<bool>,
    /// Seconds a command may take if it does not say.
    pub command_timeout: Option<u64>,
    /// Variables that commands see beside the usual ones.
    pub environment: Vec<String>,
    /// Where the workspaces are.
    pub workspaces: Option<PathBuf>,
    /// Days after which unused workspaces are removed.
    pub workspace_days: Option<u64>,
    /// Days after which unused sessions are removed; never where nothing is said.
    pub session_days: Option<u64>,
}

/// A rule on calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// The tool; `*` for any.
    pub tool: String,
    /// What its arguments look like, as a regular expression; anything if nothing is said.
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
    List(Vec<Entry>),
}

/// One middleware: its name, or its name with its settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Entry {
    /// With its usual settings.
    Name(String),
    /// With settings of its own.
    With(String, toml::Value),
}

/// A server that offers tools: a program, or an address.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpConfig {
    /// The program.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it sees beside PATH, HOME and LANG.
    pub env: BTreeMap<String, String>,
    /// The folder it starts in; the home folder if nothing is said.
    pub cwd: Option<PathBuf>,
    /// The address.
    pub url: Option<String>,
    /// Headers, each from a variable: `Authorization = "MY_TOKEN_HEADER"`.
    pub header_env: BTreeMap<String, String>,
    /// The tools that are switched on; all if nothing is said.
    pub tools: Option<Vec<String>>,
    /// Seconds a call may take.
    pub timeout: Option<u64>,
    /// Leave it out.
    pub off: bool,
}

/// Folders as `--allow-dir` takes them.
fn grants<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Grant>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| text.parse::<Grant>().map_err(serde::de::Error::custom)).collect()
}

impl AgentSettings {
    /// Values that make no sense are refused.
    pub(super) fn check(&self) -> Result<()> {
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
                bail!("agent.{name} is {value}; it must be a whole number from 1 to {most}");
            }
        }
        Ok(())
    }

    /// A project's file comes with a folder, perhaps from somebody else: it may not widen what the agent may do.
    pub(super) fn of_project(&self, file: &str) -> Result<()> {
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
        match widening.into_iter().find(|(_, set)| *set) {
            Some((name, _)) => bail!(
                "{file} sets agent.{name}, which says what the agent may do; that belongs into the config of the user"
            ),
            None => Ok(()),
        }
    }

    /// What comes with a folder may ask for less than the user allows, and for no more. Gives what does not hold, in two languages.
    pub(super) fn narrow(&mut self, user: &Self, file: &str) -> Vec<(String, String)> {
        let steps = user.steps.unwrap_or(Limits::default().steps);
        let command_timeout = user.command_timeout.unwrap_or(COMMAND_TIME);
        let iterations = user.iterations.unwrap_or(usize::MAX);
        let time = user.time.unwrap_or(u64::MAX);
        let told = [
            at_most("steps", &mut self.steps, steps, file),
            at_most("command_timeout", &mut self.command_timeout, command_timeout, file),
            at_most("iterations", &mut self.iterations, iterations, file),
            at_most("time", &mut self.time, time, file),
        ];
        told.into_iter().flatten().collect()
    }

    /// These settings, as far as the newer ones do not say otherwise.
    pub(super) fn under(self, newer: Self) -> Self {
        fn longer<T>(older: Vec<T>, newer: Vec<T>) -> Vec<T> {
            older.into_iter().chain(newer).collect()
        }
        Self {
            steps: newer.steps.or(self.steps),
            iterations: newer.iterations.or(self.iterations),
            time: newer.time.or(self.time),
            tools_on: longer(self.tools_on, newer.tools_on),
            tools_off: longer(self.tools_off, newer.tools_off),
            approval: newer.approval.or(self.approval),
            approval_timeout: newer.approval_timeout.or(self.approval_timeout),
            rules: longer(newer.rules, self.rules),
            middleware: newer.middleware.or(self.middleware),
            allow_dirs: longer(self.allow_dirs, newer.allow_dirs),
            read_dirs: longer(self.read_dirs, newer.read_dirs),
            network: newer.network.or(self.network),
            command_timeout: newer.command_timeout.or(self.command_timeout),
            environment: longer(self.environment, newer.environment),
            workspaces: newer.workspaces.or(self.workspaces),
            workspace_days: newer.workspace_days.or(self.workspace_days),
            session_days: newer.session_days.or(self.session_days),
        }
    }
}

/// Brings a value of a file down to what is allowed; says so where it was more.
fn at_most<T: Copy + Ord + fmt::Display>(
    name: &str,
    value: &mut Option<T>,
    allowed: T,
    file: &str,
) -> Option<(String, String)> {
    let wanted = value.filter(|wanted| *wanted > allowed)?;
    *value = Some(allowed);
    Some((
        format!("agent.{name} of {file} is {wanted}; {allowed} holds, and only your own config can allow more"),
        format!("{file} 的 agent.{name} 为 {wanted}；以 {allowed} 为准，只有您自己的配置可以放宽"),
    ))
}

impl McpConfig {
    pub(super) fn check(&self, name: &str) -> Result<()> {
        if self.command.is_some() == self.url.is_some() {
            bail!("mcp.{name} must have either a command or a url");
        }
        if let Some(cwd) = self.cwd.as_ref().filter(|cwd| !(cwd.is_absolute() || cwd.starts_with("~"))) {
            bail!("mcp.{name}.cwd is {cwd:?}; it must be a whole path, or begin with ~/");
        }
        Ok(())
    }
}
