//! Settings that are listed as middlewares. Each only sets a field of the agent's configuration.
//! They keep their names because existing configurations use them.

use std::time::Duration;

use serde::Deserialize;
use waterline::policy::Policy;

use super::AgentConfig;
use crate::approval::Mode;
use crate::cause::Cause;
use crate::error::AgentError;
use crate::state::Local;
use crate::tool::{COMMANDS, FIND_FILES, SEARCH_FILES, SERVER_SEPARATOR};
use waterline::phrase;

/// A setting that changes the configuration of an agent.
pub(super) trait Setting: Send + Sync {
    /// Applies it. Settings are applied in the order they are named, so a later one overrides an
    /// earlier one.
    fn apply(&self, config: &mut AgentConfig) -> Result<(), AgentError>;
}

/// `human_approval`: the approval mode and timeout. Approvals work without it too, with defaults.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct HumanApproval {
    mode: Option<Mode>,
    /// Timeout for a reply in seconds.
    timeout: Option<u64>,
}

impl Setting for HumanApproval {
    fn apply(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        if let Some(mode) = self.mode {
            config.approval.mode = mode;
        }
        if let Some(seconds) = self.timeout {
            config.approval.time = Some(Duration::from_secs(seconds));
        }
        Ok(())
    }
}

/// `tool_retry`: retries a tool after a transient failure.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ToolRetry {
    /// Milliseconds to wait before each retry.
    waits: Vec<u64>,
}

impl Default for ToolRetry {
    fn default() -> Self {
        Self { waits: vec![500, 1_000, 2_000] }
    }
}

impl Setting for ToolRetry {
    fn apply(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        config.tool_waits = self.waits.iter().copied().map(Duration::from_millis).collect();
        Ok(())
    }
}

/// `model_retry`: how long to wait before a model call is retried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ModelRetry {
    /// Seconds to wait before each retry after a rate limit.
    rate_limit: Vec<u64>,
    /// Seconds to wait before each retry after another transient failure.
    transient: Vec<u64>,
}

impl Default for ModelRetry {
    fn default() -> Self {
        Self { rate_limit: vec![30, 45, 60], transient: vec![2, 4, 6] }
    }
}

impl Setting for ModelRetry {
    fn apply(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        let waits = |seconds: &[u64]| seconds.iter().copied().map(Duration::from_secs).collect();
        config.session.retry.rate_limit = waits(&self.rate_limit);
        config.session.retry.transient = waits(&self.transient);
        Ok(())
    }
}

/// `model_fallback`: models that are called when the first one fails.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelFallback {
    models: Vec<String>,
}

impl Setting for ModelFallback {
    fn apply(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        let found: Result<Vec<_>, Cause> =
            self.models.iter().map(|name| (config.models)(name)).collect();
        config.session.fallback = found.map_err(|cause| AgentError::InvalidSetting {
            place: "model_fallback".into(),
            cause,
        })?;
        Ok(())
    }
}

/// `shell_tool`: enables or disables `run_bash_command`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ShellTool {
    off: bool,
}

impl Setting for ShellTool {
    fn apply(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        config.toolbox.switch(COMMANDS, !self.off)
    }
}

/// `file_search`: enables or disables `find_files` and `search_files`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileSearch {
    off: bool,
}

impl Setting for FileSearch {
    fn apply(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        config.toolbox.switch(FIND_FILES, !self.off)?;
        config.toolbox.switch(SEARCH_FILES, !self.off)
    }
}

/// `tool_selector`: limits the tool list. The other tools are described in the system prompt and
/// reached through `call_tool`. The choice is made when a session starts, so that the list never
/// changes.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ToolSelector {
    /// Maximum number of tools in the list. Default: 12.
    max_tools: Option<usize>,
    /// Tools that are always in the list.
    always: Vec<String>,
}

impl Setting for ToolSelector {
    fn apply(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        // Tools of a server may be missing: a server that cannot be reached must not keep the
        // program from starting.
        let is_missing = |name: &&String| {
            !name.contains(SERVER_SEPARATOR) && config.toolbox.find(name).is_none()
        };
        if let Some(name) = self.always.iter().find(is_missing) {
            let tiers = config.toolbox.tiers(&Local::default(), &[]);
            let names: Vec<&str> = tiers.iter().map(|(tool, _)| tool.name()).collect();
            return Err(AgentError::Setting(phrase!(
                "setting-no-tool",
                "tool_selector: unknown tool {name:?}; available tools: {names}",
                name = name,
                names = names.join(", ")
            )));
        }
        config.toolbox.limit_list(&self.always, self.max_tools.unwrap_or(12));
        Ok(())
    }
}

/// `context_editing`: clears old tool results when the context gets long.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ContextEditing {
    /// The number of tokens at which results are cleared.
    trigger: u64,
    /// How many of the newest results are kept.
    keep: u64,
}

impl Default for ContextEditing {
    fn default() -> Self {
        Self { trigger: 100_000, keep: 3 }
    }
}

impl Setting for ContextEditing {
    fn apply(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        let settings = [
            ("fold.high".to_owned(), self.trigger.to_string()),
            ("clear.keep".to_owned(), self.keep.to_string()),
        ];
        let policy = Policy::preset_with("clear-tools", &settings);
        let made = policy.map_err(|error| AgentError::InvalidSetting {
            place: "context_editing".into(),
            cause: error.into(),
        })?;
        config.policies.made = Some(made);
        Ok(())
    }
}
