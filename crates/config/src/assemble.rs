//! [`Assembly`] turns settings and overrides into models, tools, servers, skills, roles and limits,
//! and builds agents from them.

mod base;
mod directories;
mod servers;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use waterline_agent::{
    AgentBuilder, AgentConfig, AgentError, DEFAULT_POLICY, InstructionFiles, Local, Offline, Start,
    State, UsedModel, approval, role,
};
use waterline_log::{Log, Session};
use waterline_memory::Memory;
use waterline_session::SessionConfig;

pub use directories::{roles, skill_directories, workspaces};
pub use servers::servers;

use self::base::base_agent_config;
use crate::agent::AgentSettings;
use crate::config::Config;
use crate::consent;
use crate::encoders::RecallEncoders;
use crate::environment::Environment;
use crate::error::ConfigError;
use crate::given_servers;
use crate::models::Models;
use crate::notice::Notice;
use crate::offline_hints::offline_hints;
use crate::overrides::{ModelOverrides, Overrides};
use crate::policy;
use crate::remembered::remembered;
use crate::settings;

/// The models, tools, servers, skills, roles and limits of agents on one log. What agents share is
/// created once; [`Assembly::for_start`] returns the assembly for another session.
#[derive(Clone)]
pub struct Assembly {
    /// The merged settings, with the preferences of the session and its user.
    pub config: Config,
    /// The caller's overrides. Call [`Assembly::reload_models`] after changing the model.
    pub overrides: Overrides,
    /// The settings without preferences.
    plain: Config,
    log: Log,
    start: Start,
    /// The user whose preferences are applied, and who owns a new session.
    user: Option<String>,
    /// The offline model of the log.
    offline: Offline,
    /// The agents' configuration before limits and policies are applied.
    base: AgentConfig,
}

impl Assembly {
    /// Finds the session that `start` names, applies the preferences of its user and the model that
    /// it prefers, resolves the models, connects to the servers and reads skills and roles. Returns
    /// notices for the user with the result.
    ///
    /// # Errors
    /// When the session must exist and does not, or a preference, a model, a key, a role or a
    /// middleware cannot be used.
    pub async fn new(
        plain: Config,
        mut overrides: Overrides,
        log: Log,
        start: Start,
    ) -> Result<(Self, Vec<Notice>), ConfigError> {
        let Preferred { config, user, used } =
            preferred(plain.clone(), &overrides, &log, &start, None).await?;
        remember(&config, &mut overrides.model, used.as_ref());
        let memory = memory(&config, &overrides)?.map(Arc::new);
        let offline = Offline::new(offline_hints()).of_log(log.clone(), memory);
        let (session, model_notices) = session_config(&config, &overrides, &offline).await?;
        let (base, mut notices) = base_agent_config(&config, &overrides, &offline, session).await?;
        notices.extend(model_notices);
        Ok((Self { config, overrides, plain, log, start, user, offline, base }, notices))
    }

    /// Returns the assembly for another session of the log, with the preferences that apply to it.
    /// The models are resolved again only if another one is preferred.
    ///
    /// # Errors
    /// When the session must exist and does not, or a preference or a model cannot be used.
    pub async fn for_start(&self, start: Start) -> Result<Self, ConfigError> {
        let owner = self.user.as_deref();
        let mut overrides = self.overrides.clone();
        let Preferred { config, user, used } =
            preferred(self.plain.clone(), &overrides, &self.log, &start, owner).await?;
        // A new session continues with the model of this one.
        if !matches!(start, Start::New | Start::Fork { .. }) {
            overrides.model = overrides.model.without_remembered();
            remember(&config, &mut overrides.model, used.as_ref());
        }
        let is_same_model = config.preferred_model == self.config.preferred_model
            && overrides.model == self.overrides.model;
        let mut other = Self { config, overrides, start, user, ..self.clone() };
        if !is_same_model {
            other.reload_models().await?;
        }
        Ok(other)
    }

    /// Resolves the models again after the overrides have changed.
    ///
    /// # Errors
    /// When a model or a key cannot be used.
    pub async fn reload_models(&mut self) -> Result<(), ConfigError> {
        // The notices were shown when the program started.
        let (session, _) = session_config(&self.config, &self.overrides, &self.offline).await?;
        // The encoders do not depend on the model, and loading them takes time.
        let encoders = self.base.session.encoders.take();
        self.base.session = SessionConfig { encoders, ..session };
        Ok(())
    }

    /// Returns an agent's configuration, with limits, rules, policies and middlewares applied.
    ///
    /// # Errors
    /// When a rule, a middleware or the role cannot be used.
    pub fn agent_config(&self) -> Result<AgentConfig, ConfigError> {
        let mut agent = self.base.clone();
        limit(&mut agent, &self.config.settings.agent, &self.overrides)?;
        apply_defaults(&mut agent, &self.config.environment, &self.overrides);
        let models = Models::with_offline(&self.config, self.offline.clone());
        agent.given_address = models.given_address(&self.overrides.model, &agent.session.model);
        let given = agent.given_address.iter();
        given.for_each(|address| given_servers::store(&self.config.environment, address));
        agent.policies = policy::policies(&self.config, &self.overrides);
        agent.apply_settings()?;
        if let Some(name) = &self.overrides.role {
            role::named(&agent.roles, name)?;
        }
        Ok(agent)
    }

    /// Returns whether the caller or the config names the model. Otherwise it depends on the keys
    /// and servers that are available, and the offline model is the last resort.
    #[must_use]
    pub fn names_model(&self) -> bool {
        let config = &self.config;
        let named = [&self.overrides.model.model, &config.preferred_model, &config.settings.model];
        named.into_iter().any(Option::is_some)
            || config.environment.variable("WATERLINE_MODEL").is_some()
    }

    /// Returns a builder for an agent in the session of this assembly.
    ///
    /// # Errors
    /// The same as [`Assembly::agent_config`].
    pub fn builder(&self) -> Result<AgentBuilder, ConfigError> {
        Ok(AgentBuilder::new(self.log.clone(), self.agent_config()?)
            .start(self.start.clone())
            .user(self.user.clone())
            .role(self.overrides.role.clone()))
    }
}

/// The preferences of a session's user, and the model that the session used before.
struct Preferred {
    /// The config with the preferences that apply.
    config: Config,
    /// The user who has them.
    user: Option<String>,
    /// The model that the session used last.
    used: Option<UsedModel>,
}

/// Continues with the model that a session used last, if nothing else chooses one.
fn remember(config: &Config, overrides: &mut ModelOverrides, used: Option<&UsedModel>) {
    if let Some(found) = used.and_then(|used| remembered(config, overrides, used)) {
        *overrides = found;
    }
}

/// Returns the config with the preferences that apply to a session, and the user who has them: the
/// one that the caller names, else the owner of the session, else `owner`.
async fn preferred(
    mut config: Config,
    overrides: &Overrides,
    log: &Log,
    start: &Start,
    owner: Option<&str>,
) -> Result<Preferred, ConfigError> {
    let start = start.clone();
    let named = overrides.user.clone();
    let owner = owner.map(str::to_owned);
    // The inner result is an error of the agent, not of the log.
    let log = log.handle();
    let read = log.run(move |log| {
        Ok(start.find(log, named.as_deref()).and_then(|session| {
            let of_session = session.as_ref().map(|session| session.user.clone());
            let user = named.or(of_session.unwrap_or(owner));
            let preferences = log.preferences(user.as_deref().unwrap_or_default())?;
            Ok((session, user, preferences))
        }))
    });
    let (session, user, preferences): (Option<Session>, _, _) =
        read.await.map_err(AgentError::from)??;
    config.add_preferences(user.as_deref().unwrap_or_default(), &preferences)?;
    let state = session.as_ref().map(State::of).transpose()?;
    if let Some(model) = state.and_then(|state| state.model_pref) {
        config.add_session_model(&model);
    }
    let used = session.as_ref().map(Local::of).transpose()?.and_then(|local| local.model);
    Ok(Preferred { config, user, used })
}

/// Resolves the models, the default policy, the memory and the encoders. Returns notices about the
/// models.
async fn session_config(
    config: &Config,
    overrides: &Overrides,
    offline: &Offline,
) -> Result<(SessionConfig, Vec<Notice>), ConfigError> {
    let models = Models::with_offline(config, offline.clone());
    let policy = policy::load(DEFAULT_POLICY, &[], config)?;
    let model = models.primary(&overrides.model).await?;
    let (mut fallback, notices) = models.fallback();
    let mut summariser = models.summariser()?;
    join_all(fallback.iter_mut().chain(&mut summariser).map(|target| models.add_facts(target)))
        .await;
    let mut session = SessionConfig { fallback, summariser, ..SessionConfig::new(model, policy) };
    session.options.max_tokens = overrides.max_tokens;
    session.memory = memory(config, overrides)?.map(Arc::new);
    session.encoders = RecallEncoders::find(config)?.into_encoders().map(Arc::new);
    Ok((session, notices))
}

/// Returns the user's memory, unless it is switched off.
fn memory(config: &Config, overrides: &Overrides) -> Result<Option<Memory>, ConfigError> {
    let setting = config.settings.memory.as_ref();
    if overrides.memory.is_none() && setting.is_some_and(|setting| !setting.is_on()) {
        return Ok(None);
    }
    let directory = overrides.memory.clone().or_else(|| setting?.directory().cloned());
    let root = match directory {
        Some(directory) => directory,
        None => config.environment.data_directory()?,
    };
    let extracts = setting.is_some_and(settings::Memory::extracts);
    let memory = Memory::of_user(&root, overrides.user.as_deref());
    Ok(Some(memory.with_extraction(extracts)))
}

/// Applies the limits, the approval rules, the granted directories and the network.
fn limit(
    config: &mut AgentConfig,
    agent: &AgentSettings,
    overrides: &Overrides,
) -> Result<(), ConfigError> {
    let limits = &mut config.limits;
    limits.steps = overrides.steps.or(agent.steps);
    limits.iterations = agent.iterations;
    limits.time = agent.time.map(Duration::from_secs);
    config.clock = agent.clock.unwrap_or(true);
    config.checkpoints = agent.checkpoints.unwrap_or(true);
    let approval = &mut config.approval;
    approval.mode = overrides.approval.or(agent.approval).unwrap_or_default();
    approval.time = agent.approval_timeout.map(Duration::from_secs).or(approval.time);
    let rules =
        agent.rules.iter().map(|rule| approval::rule(&rule.tool, &rule.pattern, rule.answer));
    approval.rules = rules.collect::<Result<_, _>>()?;
    approval.unprotected.clone_from(&agent.writable_protected);
    config.grants = agent.allow_dirs.iter().chain(&overrides.allow_dirs).cloned().collect();
    config.toolbox.set_network(overrides.network(agent));
    config.window = overrides.model.window;
    Ok(())
}

/// Sets the directory that the agent works in, its instruction files, and what the user decided
/// about changes there.
fn apply_defaults(config: &mut AgentConfig, environment: &Arc<Environment>, overrides: &Overrides) {
    config.directory.clone_from(&overrides.directory);
    let user = environment.user_directory();
    let project = overrides
        .directory
        .as_ref()
        .map(|working| (working.grant.path.clone(), working.path.clone()));
    config.instructions = InstructionFiles::new(user, project);
    config.approval.directories = consent::changeable(environment);
    let environment = Arc::clone(environment);
    // The approval is valid for this session even if it cannot be stored.
    config.approval.remember = Some(Arc::new(move |directory| {
        drop(consent::store(&environment, directory, |consent| consent.changes = true));
    }));
}
