//! What an agent is made with.

mod list;
mod setting;
mod summarization;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use waterline_sandbox::Grant;
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

/// Finds a model by its name.
pub type FindModel = Arc<dyn Fn(&str) -> Result<ModelTarget, String> + Send + Sync>;

/// What an agent is made with.
#[derive(Clone)]
pub struct AgentConfig {
    /// Models, policy, memory. Its tools are filled in from the session.
    pub session: SessionConfig,
    /// Finds other models.
    pub models: FindModel,
    /// The tools.
    pub toolbox: Toolbox,
    /// How much it may do.
    pub limits: Limits,
    /// Which calls somebody must agree to.
    pub approval: Approval,
    /// Hooks into its turns.
    pub middleware: Vec<Arc<dyn Middleware>>,
    /// Observers, in addition to its front end.
    pub observers: Vec<Arc<dyn Observer>>,
    /// Its skills.
    pub skills: Vec<Skill>,
    /// Roles that work can be handed to.
    pub roles: Vec<Role>,
    /// The folder of the workspaces.
    pub workspaces: PathBuf,
    /// Folders beside the workspace.
    pub grants: Vec<Grant>,
    /// Where its policy is named.
    pub policies: Policies,
    /// Its system prompt, instead of the usual one.
    pub prompt: Option<String>,
    /// How long to wait before a tool is run again whose trouble may pass.
    pub tool_waits: Vec<Duration>,
    /// Notes for the user that came up while it was set up.
    pub notices: Vec<String>,
    /// Settings that are not applied yet.
    settings: Vec<Arc<dyn Setting>>,
    /// The names that [`add`](Self::add) was given.
    named: Vec<&'static str>,
    /// The setting `summarization` chose the policy.
    pub(crate) summarization_set: bool,
}

impl AgentConfig {
    /// A model and a policy, with the built-in tools and nothing else.
    #[must_use]
    pub fn new(session: SessionConfig, toolbox: Toolbox, workspaces: PathBuf) -> Self {
        Self {
            session,
            models: Arc::new(|name| Err(format!("no model is called {name:?}"))),
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
            prompt: None,
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
    /// When a setting does not fit: a model that cannot be found, a tool that does not exist.
    pub fn apply_settings(&mut self) -> Result<(), AgentError> {
        for setting in self.settings.clone() {
            setting.apply(self)?;
        }
        Ok(())
    }

    /// The names of the middlewares and settings that were added, in their order.
    #[must_use]
    pub fn named(&self) -> &[&'static str] {
        &self.named
    }

    /// The same for a role: its model, its policy, its prompt, its tools.
    ///
    /// # Errors
    /// When its model, its policy or its tools cannot be had.
    pub fn of_role(&self, role: &Role) -> Result<Self, AgentError> {
        let mut own = self.clone();
        if let Some(model) = &role.model {
            own.session.model = (self.models)(model).map_err(AgentError::Setting)?;
        }
        if role.window.is_some() {
            own.session.model.window = role.window;
        }
        own.policies.role = role.policy()?;
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

    /// A configuration with the offline model.
    pub(super) fn config() -> AgentConfig {
        let setup = SessionConfig::new(
            crate::offline::Offline::candidate(""),
            Policy::preset_with("auto", &[]).unwrap(),
        );
        AgentConfig::new(setup, Toolbox::new(Arc::new(Shell::unconfined())), PathBuf::new())
    }
}
