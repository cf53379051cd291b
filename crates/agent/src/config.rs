//! The configuration of an agent.

mod list;
mod setting;
mod summarization;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use waterline_sandbox::Grant;
use waterline_session::memory::Sink;
use waterline_session::{ModelTarget, SessionConfig};

pub use list::{PRESETS, preset};
pub(crate) use summarization::policy_of_buffer;

use self::setting::Setting;

use crate::approval::Approval;
use crate::error::AgentError;
use crate::limits::Limits;
use crate::middleware::Middleware;
use crate::observer::Observer;
use crate::policy::Policies;
use crate::role::Role;
use crate::skill::Skill;
use crate::tool::Toolbox;

/// Finds a model by name.
pub type FindModel = Arc<dyn Fn(&str) -> Result<ModelTarget, String> + Send + Sync>;

/// The configuration of an agent.
#[derive(Clone)]
pub struct AgentConfig {
    /// Models, policy and memory. The tools are filled in when the session is opened.
    pub session: SessionConfig,
    /// Finds the models that roles and fallbacks name.
    pub models: FindModel,
    /// The available tools.
    pub toolbox: Toolbox,
    /// Limits on the work of a turn.
    pub limits: Limits,
    /// Which calls need approval.
    pub approval: Approval,
    /// Hooks into the turns.
    pub middleware: Vec<Arc<dyn Middleware>>,
    /// Observers in addition to the front end.
    pub observers: Vec<Arc<dyn Observer>>,
    /// The available skills.
    pub skills: Vec<Skill>,
    /// The roles that work can be handed to.
    pub roles: Vec<Role>,
    /// The directory that contains the workspaces.
    pub workspaces: PathBuf,
    /// Granted directories in addition to the workspace.
    pub grants: Vec<Grant>,
    /// The sources of the policy.
    pub policies: Policies,
    /// The memory of sessions that have none, if their policy summarizes for one.
    pub usual_memory: Option<Arc<dyn Sink>>,
    /// The system prompt, if not the default.
    pub prompt: Option<String>,
    /// Whether each step of a turn writes a checkpoint. The end of a turn always does.
    pub checkpoints: bool,
    /// Whether the model is given the time.
    pub clock: bool,
    /// How long to wait before each retry of a tool with a transient failure.
    pub tool_waits: Vec<Duration>,
    /// Notices for the user from setting up the agent.
    pub notices: Vec<String>,
    /// Settings that are not applied yet.
    settings: Vec<Arc<dyn Setting>>,
    /// The names passed to [`add`](Self::add).
    named: Vec<&'static str>,
    /// Whether the setting `summarization` chose the policy.
    pub(crate) summarization_set: bool,
}

impl AgentConfig {
    /// Returns a configuration with a model, a policy and tools, and defaults for the rest.
    #[must_use]
    pub fn new(session: SessionConfig, toolbox: Toolbox, workspaces: PathBuf) -> Self {
        Self {
            session,
            models: Arc::new(|name| Err(format!("unknown model {name:?}"))),
            toolbox,
            limits: Limits::default(),
            approval: Approval::default(),
            middleware: Vec::new(),
            observers: Vec::new(),
            skills: Vec::new(),
            roles: Vec::new(),
            workspaces,
            grants: Vec::new(),
            policies: Policies::default(),
            usual_memory: None,
            prompt: None,
            checkpoints: true,
            clock: true,
            tool_waits: Vec::new(),
            notices: Vec::new(),
            settings: Vec::new(),
            named: Vec::new(),
            summarization_set: false,
        }
    }

    /// Applies the settings that were added by name. They override fields that were set before.
    ///
    /// # Errors
    /// When a setting is invalid, for example names a model or a tool that does not exist.
    pub fn apply_settings(&mut self) -> Result<(), AgentError> {
        for setting in self.settings.clone() {
            setting.apply(self)?;
        }
        Ok(())
    }

    /// Returns the names of the middlewares and settings that were added, in order.
    #[must_use]
    pub fn named(&self) -> &[&'static str] {
        &self.named
    }

    /// Returns the configuration for a role: with its model, policy, prompt and tools.
    ///
    /// # Errors
    /// When its model, its policy or one of its tools does not exist.
    pub fn of_role(&self, role: &Role) -> Result<Self, AgentError> {
        let mut own = self.clone();
        if let Some(model) = &role.model {
            own.session.model = (self.models)(model).map_err(AgentError::Setting)?;
        }
        if role.window.is_some() {
            own.session.model.window = role.window;
        }
        own.policies.role = role.policy_by(&self.policies.load)?;
        if let Some(tools) = &role.tools {
            own.toolbox.narrow(tools)?;
        }
        own.toolbox.switch("hand_off", !role.hands_to.is_empty())?;
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
            crate::offline::Offline::candidate(""),
            Policy::preset_with("auto", &[]).unwrap(),
        );
        let toolbox = Toolbox::new(Arc::new(Shell::unconfined()));
        AgentConfig::new(session_config, toolbox, PathBuf::new())
    }
}
