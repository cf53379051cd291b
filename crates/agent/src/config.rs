//! The configuration of an agent.

mod list;
mod setting;
mod summarization;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::cause::Cause;
use waterline::phrase;
use waterline_sandbox::Grant;
use waterline_sandbox::workspace::is_same;
use waterline_session::{ModelTarget, SessionConfig};

pub use list::{PRESETS, preset};
pub(crate) use summarization::policy_of_buffer;

use self::setting::Setting;

use crate::approval::Approval;
use crate::error::AgentError;
use crate::instructions::InstructionFiles;
use crate::limits::Limits;
use crate::middleware::Middleware;
use crate::notice::Notice;
use crate::observer::Observer;
use crate::policy::Policies;
use crate::role::Role;
use crate::skill::Skill;
use crate::tool::{HAND_OFF, Toolbox};

/// The tool definitions may take at most 1/5 of the window.
const DEFINITIONS_SHARE: usize = 5;

/// Finds a model by name.
pub type FindModel = Arc<dyn Fn(&str) -> Result<ModelTarget, Cause> + Send + Sync>;

/// The directory that an agent works in, outside its private workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingDirectory {
    /// Where relative paths and commands start.
    pub path: PathBuf,
    /// The granted directory that contains it: the root of the project.
    pub grant: Grant,
}

/// The configuration of an agent.
#[derive(Clone)]
pub struct AgentConfig {
    /// Models, policy and memory. The tools are filled in when the session is opened.
    pub session: SessionConfig,
    /// Finds the models that roles and fallbacks name.
    pub models: FindModel,
    /// The tools that the agent has, and which of them the model sees.
    pub toolbox: Toolbox,
    /// Limits on the work of a turn.
    pub limits: Limits,
    /// Which calls need approval.
    pub approval: Approval,
    /// Hooks into the turns.
    pub middleware: Vec<Arc<dyn Middleware>>,
    /// Observers in addition to the front end.
    pub observers: Vec<Arc<dyn Observer>>,
    /// The skills that the prompt lists.
    pub skills: Vec<Skill>,
    /// The roles that work can be handed to.
    pub roles: Vec<Role>,
    /// The directory that contains the workspaces.
    pub workspaces: PathBuf,
    /// The id of this machine in the leases of sessions; `None` for the boot id of the system. A
    /// process takes over the lease of one that has ended only if both have the same.
    pub machine: Option<String>,
    /// Granted directories in addition to the workspace.
    pub grants: Vec<Grant>,
    /// The directory that the agent works in; `None` for its workspace.
    pub directory: Option<WorkingDirectory>,
    /// The address of the main model's server, if the user gave it. Sessions keep it, to continue
    /// at the same server.
    pub given_address: Option<String>,
    /// The instruction files of the user and of the project.
    pub instructions: InstructionFiles,
    /// The window that the caller asks for. It wins over the window of a role.
    pub window: Option<usize>,
    /// The sources of the policy.
    pub policies: Policies,
    /// The system prompt, if not the default.
    pub prompt: Option<String>,
    /// Whether each step of a turn writes a checkpoint. The end of a turn always does.
    pub checkpoints: bool,
    /// Whether the model is given the time.
    pub clock: bool,
    /// How long to wait before each retry of a tool with a transient failure.
    pub tool_waits: Vec<Duration>,
    /// Notices for the user from setting up the agent.
    pub notices: Vec<Notice>,
    /// Settings that are not applied yet.
    settings: Vec<Arc<dyn Setting>>,
    /// Whether the tool definitions were limited to their share of the window.
    is_limited: bool,
    /// The names passed to [`add`](Self::add).
    named: Vec<&'static str>,
    /// Whether the setting `summarization` chose the policy.
    pub(crate) summarization_set: bool,
}

fn unknown_model(name: &str) -> AgentError {
    AgentError::Setting(phrase!("setting-unknown-model", "unknown model {name:?}", name = name))
}

impl AgentConfig {
    /// Returns a configuration with a model, a policy and tools, and defaults for the rest.
    #[must_use]
    pub fn new(session: SessionConfig, toolbox: Toolbox, workspaces: PathBuf) -> Self {
        Self {
            session,
            models: Arc::new(|name| Err(unknown_model(name).into())),
            toolbox,
            limits: Limits::default(),
            approval: Approval::default(),
            middleware: Vec::new(),
            observers: Vec::new(),
            skills: Vec::new(),
            roles: Vec::new(),
            workspaces,
            machine: None,
            grants: Vec::new(),
            directory: None,
            given_address: None,
            instructions: InstructionFiles::default(),
            window: None,
            policies: Policies::default(),
            prompt: None,
            checkpoints: true,
            clock: true,
            tool_waits: Vec::new(),
            notices: Vec::new(),
            settings: Vec::new(),
            is_limited: false,
            named: Vec::new(),
            summarization_set: false,
        }
    }

    /// Applies the settings that were added by name, each once. They override fields that were set
    /// before. Opening an agent applies those that are left.
    ///
    /// # Errors
    /// When a setting is invalid, for example names a model or a tool that does not exist.
    pub fn apply_settings(&mut self) -> Result<(), AgentError> {
        for setting in std::mem::take(&mut self.settings) {
            setting.apply(self)?;
        }
        if !self.is_limited && !self.named.contains(&"tool_selector") {
            self.limit_definitions();
        }
        self.is_limited = true;
        Ok(())
    }

    /// Keeps the tool definitions within a share of the window: servers may have many tools.
    fn limit_definitions(&mut self) {
        let model = &self.session.model;
        let window = model.window.unwrap_or_else(|| model.about.input_window());
        let counter = model.about.counter();
        let left_out = self.toolbox.limit_tokens(&counter, window / DEFINITIONS_SHARE);
        if left_out > 0 {
            let share = DEFINITIONS_SHARE;
            self.notices.push(Notice::ToolsInShort { count: left_out, share });
        }
    }

    /// Returns the names of the middlewares and settings that were added, in order.
    #[must_use]
    pub fn named(&self) -> &[&'static str] {
        &self.named
    }

    /// Returns every granted directory, with the working directory's first.
    pub(crate) fn all_grants(&self) -> Vec<Grant> {
        let working = self.directory.iter().map(|directory| &directory.grant);
        working
            .chain(self.grants.iter().filter(|grant| !self.is_working_grant(grant)))
            .cloned()
            .collect()
    }

    /// Returns whether a grant repeats that of the working directory.
    fn is_working_grant(&self, grant: &Grant) -> bool {
        self.directory.as_ref().is_some_and(|own| is_same(&own.grant.path, &grant.path))
    }

    /// Returns the configuration for a role: with its model, policy, prompt and tools.
    ///
    /// # Errors
    /// When its model, its policy or one of its tools does not exist.
    pub fn of_role(&self, role: &Role) -> Result<Self, AgentError> {
        let mut own = self.clone();
        if let Some(model) = &role.model {
            own.session.model = (self.models)(model).map_err(AgentError::Unusable)?;
        }
        if let Some(window) = self.window.or(role.window) {
            own.session.model.window = Some(window);
        }
        own.policies.role = role.policy_by(&self.policies.load)?;
        if let Some(tools) = &role.tools {
            own.toolbox.narrow(tools)?;
        }
        own.toolbox.switch(HAND_OFF, !role.hands_to.is_empty())?;
        own.prompt = Some(role.prompt.clone()).filter(|prompt| !prompt.is_empty()).or(own.prompt);
        Ok(own)
    }
}

#[cfg(test)]
mod tests {
    use waterline::policy::Policy;
    use waterline_sandbox::Shell;

    use super::*;

    /// Returns a configuration with the offline model.
    pub(super) fn config() -> AgentConfig {
        let session_config = SessionConfig::new(
            crate::offline::Offline::default().target(),
            Policy::preset_with("auto", &[]).unwrap(),
        );
        let toolbox = Toolbox::new(Arc::new(Shell::unconfined()));
        AgentConfig::new(session_config, toolbox, PathBuf::new())
    }
}
