//! [`AgentBuilder`] creates an agent in a session from a log and an [`AgentConfig`].

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use waterline::Choice;
use waterline::policy::Policy;
use waterline_log::{Log, Session};
use waterline_provider::Model;
use waterline_sandbox::Shell;
use waterline_session::{ModelTarget, SessionConfig};

use crate::agent::{Agent, HandoffRunner};
use crate::approver::Unattended;
use crate::config::AgentConfig;
use crate::error::AgentError;
use crate::observer::Frontend;
use crate::policy::DEFAULT_POLICY;
use crate::role;
use crate::start::Start;
use crate::state::{State, UsedModel, edit};
use crate::tool::{Callable, Toolbox};

/// Builds an agent, with [`AgentBuilder::open`] or in two parts: the session
/// ([`AgentBuilder::prepare`]), then the agent in it ([`Prepared::runner`]).
#[derive(Clone)]
pub struct AgentBuilder {
    log: Log,
    config: AgentConfig,
    start: Start,
    user: Option<String>,
    role: Option<String>,
    frontend: Arc<dyn Frontend>,
}

/// A choice of the caller that does not apply as given, because the session already exists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartNotice {
    /// The session keeps its system prompt.
    Prompt,
    /// The session keeps its role.
    Role {
        /// The role of the session.
        own: String,
        /// The role that was asked for.
        asked: String,
    },
    /// The session had no role and gets the requested one, but keeps its system prompt.
    PromptInRole(String),
    /// The session used another model so far.
    Model {
        /// The model of the newest call.
        before: String,
        /// The model from now on.
        now: String,
    },
}

impl fmt::Display for StartNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prompt => f.write_str(
                "the system prompt applies to new sessions only; this session keeps its",
            ),
            Self::Role { own, asked } => {
                write!(
                    f,
                    "this session keeps the role {own} and its prompt; start a new session for \
                     {asked}"
                )
            }
            Self::PromptInRole(role) => {
                write!(f, "this session gets the role {role}, but keeps its prompt")
            }
            Self::Model { before, now } => {
                write!(f, "this session used {before} so far; it continues with {now}")
            }
        }
    }
}

/// A session that is ready for its agent.
pub struct Prepared {
    /// The session, found or created.
    pub session: Session,
    /// Whether the session was created for this agent.
    pub is_new: bool,
    /// Choices of the caller that do not apply as given.
    pub notices: Vec<StartNotice>,
    log: Log,
    config: AgentConfig,
}

impl Agent {
    /// Returns a builder for an agent with a model and defaults for everything else. `name` is the
    /// model's name at its provider; every session gets a directory below `workspaces`. The agent
    /// has all built-in tools except commands, which need [`AgentBuilder::commands`].
    ///
    /// # Errors
    /// When the default policy cannot be read.
    pub fn builder(
        log: Log,
        workspaces: impl Into<PathBuf>,
        name: impl Into<String>,
        model: impl Model + 'static,
    ) -> Result<AgentBuilder, AgentError> {
        let policy =
            Policy::preset(DEFAULT_POLICY).map_err(|error| AgentError::Unusable(error.into()))?;
        let session = SessionConfig::new(ModelTarget::new(name, model), policy);
        let config = AgentConfig::new(session, Toolbox::without_commands(), workspaces.into());
        Ok(AgentBuilder::new(log, config))
    }
}

impl AgentBuilder {
    /// Returns a builder for an agent in a new session.
    #[must_use]
    pub fn new(log: Log, config: AgentConfig) -> Self {
        let frontend = Arc::new(Unattended);
        Self { log, config, start: Start::New, user: None, role: None, frontend }
    }

    /// Sets the policy: the name of a preset, which wins over the policy of the session, or a
    /// [`Policy`], which applies to sessions that name none.
    #[must_use]
    pub fn policy(mut self, policy: impl Into<Choice<Policy>>) -> Self {
        match policy.into() {
            Choice::Name(name) => self.config.policies.caller = Some(name),
            Choice::Value(policy) => self.config.session.policy = policy,
            _ => {}
        }
        self
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// When there is a tool of the same name.
    pub fn tool(mut self, tool: impl Callable + 'static) -> Result<Self, AgentError> {
        self.config.toolbox.add(Arc::new(tool))?;
        Ok(self)
    }

    /// Adds the tool that runs commands, in a shell. A confined shell starts the program again, so
    /// its `main` must call [`waterline_sandbox::launcher`] first.
    ///
    /// # Errors
    /// When the agent has the tool already.
    pub fn commands(mut self, shell: Shell) -> Result<Self, AgentError> {
        self.config.approval.confined = shell.confined;
        self.config.toolbox.add_commands(Arc::new(shell))?;
        Ok(self)
    }

    /// Sets the front end. By default there is none: calls that need approval are denied.
    #[must_use]
    pub fn frontend(self, frontend: Arc<dyn Frontend>) -> Self {
        Self { frontend, ..self }
    }

    /// Changes the configuration.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut AgentConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Sets the session by its id. It is created if it does not exist.
    #[must_use]
    pub fn session(self, id: impl Into<String>) -> Self {
        self.start(Start::Open(id.into()))
    }

    /// Sets the session that the agent works in.
    #[must_use]
    pub fn start(self, start: Start) -> Self {
        Self { start, ..self }
    }

    /// Sets the user who owns a new session. Sessions of other users are refused.
    #[must_use]
    pub fn user(self, user: Option<String>) -> Self {
        Self { user, ..self }
    }

    /// Sets the role for a session that has none.
    #[must_use]
    pub fn role(self, role: Option<String>) -> Self {
        Self { role, ..self }
    }

    /// Sets the system prompt of a new session, instead of the default.
    #[must_use]
    pub fn prompt(mut self, prompt: Option<String>) -> Self {
        self.config.prompt = prompt;
        self
    }

    /// Returns the configuration of the agent so far.
    #[must_use]
    pub const fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// Finds or creates the session, and stores the chosen policy, role and model in it.
    ///
    /// # Errors
    /// When the session must exist and does not, the role does not exist, or the log cannot be
    /// written.
    pub async fn prepare(self) -> Result<Prepared, AgentError> {
        if let Some(name) = &self.role {
            role::named(&self.config.roles, name)?;
        }
        // The inner result is an error of the agent, not of the log.
        self.log.handle().run(move |_| Ok(self.prepare_now())).await?
    }

    fn prepare_now(mut self) -> Result<Prepared, AgentError> {
        let model = self.config.session.model.name.clone();
        let policy = self.config.policies.first().to_owned();
        // An invalid policy is rejected before a session is created for it.
        let user = self.user.as_deref();
        let known = self.start.find(&self.log, user)?;
        let session = known.unwrap_or_else(|| Session {
            policy: Some(policy.clone()),
            ..Session::new(String::new())
        });
        self.config.policies.of(&session, &model)?;
        let (mut session, is_new) = self.start.session(&self.log, &policy, user)?;
        let notices = self.notices(&session, &model)?;
        if notices.contains(&StartNotice::Prompt) {
            self.config.prompt = None;
        }
        let before = session.clone();
        if let Some(policy) = &self.config.policies.caller {
            session.policy = Some(policy.clone());
        }
        if let Some(role) = &self.role {
            edit(&mut session, |state, _| {
                state.role = state.role.take().or_else(|| Some(role.clone()))
            })?;
        }
        // Asks before an interrupted turn is resumed with another model.
        let used = session.model.replace(model);
        if let Some(used) = used.filter(|_| session.tip.position() > 0) {
            edit(&mut session, |_, local| {
                local.model.get_or_insert_with(|| UsedModel::named(used.clone()));
            })?;
        }
        if before != session {
            self.log.save(&session)?;
        }
        Ok(Prepared { session, is_new, notices, log: self.log, config: self.config })
    }

    /// Returns the choices of the caller that do not apply to a session as given.
    fn notices(&self, session: &Session, model: &str) -> Result<Vec<StartNotice>, AgentError> {
        let has_prompt = session.tip.position() > 0;
        let prompt =
            self.config.prompt.as_ref().filter(|_| has_prompt).map(|_| StartNotice::Prompt);
        let own = State::of(session)?.role;
        let role = self.role.as_ref().and_then(|asked| match own {
            Some(own) if own == *asked => None,
            Some(own) => Some(StartNotice::Role { own, asked: asked.clone() }),
            None => has_prompt.then(|| StartNotice::PromptInRole(asked.clone())),
        });
        let before = session.model.as_ref().filter(|before| *before != model && has_prompt);
        let model = before
            .map(|before| StartNotice::Model { before: before.clone(), now: model.to_owned() });
        Ok([prompt, role, model].into_iter().flatten().collect())
    }

    /// Finds or creates the session and opens the agent in it. [`Prepared::runner`] also follows
    /// hand-offs to other roles.
    ///
    /// # Errors
    /// As for [`AgentBuilder::prepare`] and [`Prepared::runner`].
    pub async fn open(self) -> Result<Agent, AgentError> {
        let frontend = Arc::clone(&self.frontend);
        Ok(self.prepare().await?.runner(frontend).await?.agent)
    }
}

impl Prepared {
    /// Returns the configuration of the agent.
    #[must_use]
    pub const fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// Opens the agent in its session, with the session's role.
    ///
    /// # Errors
    /// When the workspace cannot be used, or the role's model, policy or tools cannot.
    pub async fn runner(self, frontend: Arc<dyn Frontend>) -> Result<HandoffRunner, AgentError> {
        HandoffRunner::open(self.log, &self.session.id, self.config, frontend).await
    }
}
