//! Builds a session from a model, a log and defaults for everything else. [`SessionConfig`] has all
//! the settings.

use std::sync::Arc;

use waterline::Choice;
use waterline::message::Message;
use waterline::policy::{DEFAULT_POLICY, Policy};
use waterline_log::{AsyncLog, LogError, Session};
use waterline_provider::Model;
use waterline_provider::wire::{Options, Tool};

use crate::config::{ModelTarget, SessionConfig, WindowSource};
use crate::error::SessionError;
use crate::live::LiveSession;

/// A session builder, created by [`LiveSession::builder`].
#[derive(Debug)]
#[must_use]
pub struct Builder {
    model: ModelTarget,
    fallback: Vec<ModelTarget>,
    policy: Choice<Policy>,
    system: Option<String>,
    tools: Vec<Tool>,
    options: Options,
}

impl LiveSession {
    /// Creates a builder for a session with a model. `name` is the model's name at its provider.
    pub fn builder(name: impl Into<String>, model: impl Model + 'static) -> Builder {
        Builder {
            model: ModelTarget::new(name, model),
            fallback: Vec::new(),
            policy: DEFAULT_POLICY.into(),
            system: None,
            tools: Vec::new(),
            options: Options::default(),
        }
    }
}

impl Builder {
    /// Sets the policy that decides when and how to fold: the name of a preset, or a [`Policy`].
    pub fn policy(mut self, policy: impl Into<Choice<Policy>>) -> Self {
        self.policy = policy.into();
        self
    }

    /// Sets the maximum number of tokens of a prompt.
    pub const fn window(mut self, tokens: usize) -> Self {
        self.model.window = Some(tokens);
        self
    }

    /// Describes the model: how it counts tokens, its window, what it accepts. By default it is the
    /// entry of the built-in catalog.
    pub fn about(mut self, model: waterline::Model) -> Self {
        self.model.about = Arc::new(model);
        self.model.window_source = WindowSource::Setting;
        self
    }

    /// Sets the system prompt of a new session.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Sets the tools that the model may call.
    pub fn tools(mut self, tools: Vec<Tool>) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the options of every call.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Adds a model to call if those before it fail.
    pub fn fallback(mut self, model: ModelTarget) -> Self {
        self.fallback.push(model);
        self
    }

    /// Opens the session with an id in a log, and creates it if it does not exist.
    ///
    /// # Errors
    /// If the log cannot be read or written, or the policy is unknown.
    pub async fn open(
        self,
        log: impl Into<AsyncLog>,
        session: &str,
    ) -> Result<LiveSession, SessionError> {
        let log = log.into();
        let id = session.to_owned();
        let policy = self.policy.load()?;
        let config = SessionConfig {
            fallback: self.fallback,
            tools: self.tools,
            options: self.options,
            ..SessionConfig::new(self.model, policy)
        };
        let created = log.run(move |log| match log.session(&id) {
            Err(LogError::NoSession { .. }) => match log.create(Session::new(&id)) {
                // Another process has just created it.
                Err(LogError::Exists { .. }) => Ok(()),
                created => created.map(drop),
            },
            found => found.map(drop),
        });
        created.await?;
        let mut live = LiveSession::open(log, session, config).await?;
        if let Some(system) = self.system.filter(|_| live.session().tip.position() == 0) {
            live.say(vec![Message::system(system)]).await?;
        }
        Ok(live)
    }
}
