//! Chooses the policy for a session and a model. [`Policies`] collects the sources that can name a
//! policy; [`Policies::of`] chooses one and loads it. Nothing else decides this.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::cause::Cause;
use waterline::policy::Policy;
use waterline_log::Session;
use waterline_session::SessionConfig;

use crate::error::AgentError;

/// The default policy. A session that is created without a choice stores this name, so a session
/// with it leaves the choice to its role, its settings and its model.
pub use waterline::policy::DEFAULT_POLICY;

/// Policy keys to override, with their values.
pub type PolicyKeys = Vec<(String, String)>;

/// Loads a policy by name or file, with some keys overridden.
pub type LoadPolicy = Arc<dyn Fn(&str, &[(String, String)]) -> Result<Policy, Cause> + Send + Sync>;

/// The sources that can name a policy, apart from the session.
#[derive(Clone)]
pub struct Policies {
    /// The caller's choice, which overrides everything else: a flag, a field of a request.
    pub caller: Option<String>,
    /// Keys that the caller overrides in any policy that is loaded by name.
    pub keys: PolicyKeys,
    /// The preferences of the user. The keys apply to the policy that they name, or to the default.
    pub user: ModelPolicy,
    /// The policy of the role.
    pub role: Option<Policy>,
    /// The policy of a setting such as `summarization`.
    pub made: Option<Policy>,
    /// The choice in the configuration.
    pub config: Option<String>,
    /// The choices in the configuration for single models.
    pub models: BTreeMap<String, ModelPolicy>,
    /// Loads a policy by name.
    pub load: LoadPolicy,
}

/// The policy configured for one model or one user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelPolicy {
    /// The name of the policy.
    pub name: Option<String>,
    /// Keys to override.
    pub keys: PolicyKeys,
}

impl Default for Policies {
    fn default() -> Self {
        let load: LoadPolicy =
            Arc::new(|name, keys| Policy::preset_with(name, keys).map_err(Cause::from));
        Self {
            caller: None,
            keys: PolicyKeys::new(),
            user: ModelPolicy::default(),
            role: None,
            made: None,
            config: None,
            models: BTreeMap::new(),
            load,
        }
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = (&self.caller, self.role.as_ref().map(|role| &role.name), &self.config);
        f.debug_tuple("Policies").field(&names).finish()
    }
}

/// What is chosen for a session and a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Choice {
    /// A policy by name, or the default, with some keys overridden.
    Named {
        /// The name; `None` if nothing names a policy.
        name: Option<String>,
        /// Keys to override.
        keys: PolicyKeys,
    },
    /// The policy of a role or a setting.
    Made(Box<Policy>),
}

/// The source that names the effective policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Caller,
    Session,
    User,
    Role,
    Made,
    Config,
    Model,
    Default,
}

impl Policies {
    /// Returns the source of the policy for a session and a model: caller > session > user >
    /// role > settings > configuration > model > default. A session that stores the default made no
    /// choice, but a configuration that was changed later does not apply to it.
    fn source(&self, session: Option<&str>, model: Option<&str>) -> Source {
        let chose_default = session == Some(DEFAULT_POLICY);
        match () {
            () if self.caller.is_some() => Source::Caller,
            () if session.is_some() && !chose_default => Source::Session,
            () if self.user.name.is_some() => Source::User,
            () if self.role.is_some() => Source::Role,
            () if self.made.is_some() => Source::Made,
            () if self.config.is_some() && !chose_default => Source::Config,
            () if model.is_some() => Source::Model,
            () => Source::Default,
        }
    }

    /// Returns the policy for a session and a model, or `None` if no policy is named and no key is
    /// set.
    ///
    /// # Errors
    /// When the policy does not exist, or a key is invalid.
    pub fn of(&self, session: &Session, model: &str) -> Result<Option<Policy>, AgentError> {
        let (name, keys) = match self.choose(session, model) {
            Choice::Made(policy) => return Ok(Some(*policy)),
            Choice::Named { name: None, keys } if keys.is_empty() => return Ok(None),
            Choice::Named { name, keys } => (name, keys),
        };
        let name = name.as_deref().unwrap_or(DEFAULT_POLICY);
        (self.load)(name, &keys).map(Some).map_err(AgentError::Unusable)
    }

    /// Chooses the policy for a session and a model, without loading it.
    #[must_use]
    pub fn choose(&self, session: &Session, model: &str) -> Choice {
        let own = self.models.get(model).cloned().unwrap_or_default();
        let stored = session.policy.as_deref();
        let source = self.source(stored, own.name.as_deref());
        let made = match source {
            Source::Role => self.role.as_ref(),
            Source::Made => self.made.as_ref(),
            _ => None,
        };
        if let Some(made) = made {
            return Choice::Made(Box::new(made.clone()));
        }
        let name = match source {
            Source::Caller => self.caller.as_deref(),
            Source::Session => stored,
            Source::User => self.user.name.as_deref(),
            Source::Config => self.config.as_deref(),
            Source::Model => own.name.as_deref(),
            Source::Role | Source::Made | Source::Default => None,
        };
        let overrides = session.overrides.iter().map(|(key, value)| (key.clone(), value.clone()));
        let keys: PolicyKeys = own
            .keys
            .iter()
            .chain(self.keys_of_user(name))
            .cloned()
            .chain(overrides)
            .chain(self.keys.iter().cloned())
            .collect();
        Choice::Named { name: name.map(str::to_owned), keys }
    }

    /// Returns the keys that the user prefers for a policy.
    fn keys_of_user(&self, policy: Option<&str>) -> &[(String, String)] {
        let preferred = self.user.name.as_deref().unwrap_or(DEFAULT_POLICY);
        if policy.unwrap_or(DEFAULT_POLICY) == preferred { &self.user.keys } else { &[] }
    }

    /// Returns the policy name that a new session stores, chosen by the caller, the user or the
    /// configuration.
    #[must_use]
    pub fn first(&self) -> &str {
        let named = self.caller.as_deref().or(self.user.name.as_deref());
        named.or(self.config.as_deref()).unwrap_or(DEFAULT_POLICY)
    }

    /// Sets the effective policy for each model of a session configuration.
    pub(crate) fn apply(
        &self,
        config: &mut SessionConfig,
        session: &Session,
    ) -> Result<(), AgentError> {
        if let Some(policy) = self.of(session, &config.model.name)? {
            config.policy = policy;
            config.model.policy = None;
        }
        for model in &mut config.fallback {
            if let Some(policy) = self.of(session, &model.name)? {
                model.policy = Some(policy);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row lists the sources that name a policy, and the one that wins.
    #[test]
    fn sources_have_an_order_of_precedence() {
        use Source::{Caller, Config, Default, Made, Model, Role, Session, User};
        let rows: [(&[Source], Source); 13] = [
            (&[], Default),
            (&[Model], Model),
            (&[Config, Model], Config),
            (&[Made, Config, Model], Made),
            (&[Role, Made, Config, Model], Role),
            (&[User, Role, Made, Config, Model], User),
            (&[Session, User, Role, Made, Config, Model], Session),
            (&[Caller, Session, User, Role, Made, Config, Model], Caller),
            // A session that stores the default made no choice, but a configuration that was set
            // later does not apply to it.
            (&[Default], Default),
            (&[Default, Config], Default),
            (&[Default, Config, Model], Model),
            (&[Default, Made, Config], Made),
            (&[Default, Role, Config], Role),
        ];
        let preset = |name: &str| Some(Policy::preset(name).unwrap());
        for (named, expected) in rows {
            let names = |source: Source| named.contains(&source);
            let policies = Policies {
                caller: names(Caller).then(|| "chat".to_owned()),
                user: ModelPolicy {
                    name: names(User).then(|| "auto".to_owned()),
                    ..ModelPolicy::default()
                },
                role: preset("init").filter(|_| names(Role)),
                made: preset("clear-tools").filter(|_| names(Made)),
                config: names(Config).then(|| "tail".to_owned()),
                ..Policies::default()
            };
            let session = if names(Default) {
                Some(DEFAULT_POLICY)
            } else {
                names(Session).then_some("window")
            };
            assert_eq!(
                policies.source(session, names(Model).then_some("budget")),
                expected,
                "{named:?}"
            );
        }
    }

    fn stored(policy: Option<&str>, overrides: &[(&str, &str)]) -> waterline_log::Session {
        let mut session = waterline_log::Session::new("s");
        session.policy = policy.map(str::to_owned);
        session.overrides =
            overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        session
    }

    /// Keys of the model, the session and the caller apply to any policy that is loaded by name.
    /// The caller's keys win.
    #[test]
    fn keys_of_model_session_and_caller_apply_to_the_effective_policy() {
        let keys = |value: &str| vec![("fold.high".to_owned(), value.to_owned())];
        let own = ModelPolicy { name: None, keys: keys("1000") };
        let mut policies =
            Policies { models: BTreeMap::from([("m".to_owned(), own)]), ..Policies::default() };
        let high = |policies: &Policies, session: &waterline_log::Session, model: &str| {
            let policy = policies.of(session, model).unwrap();
            policy.map(|policy| {
                (policy.name.clone(), policy.setting("fold.high").unwrap().to_string())
            })
        };
        assert_eq!(high(&policies, &stored(None, &[]), "other"), None);
        let auto = |value: &str| Some(("auto".to_owned(), value.to_owned()));
        assert_eq!(high(&policies, &stored(None, &[]), "m"), auto("1000"));
        assert_eq!(high(&policies, &stored(None, &[("fold.high", "2000")]), "m"), auto("2000"));
        policies.keys = keys("3000");
        assert_eq!(
            high(&policies, &stored(Some("chat"), &[("fold.high", "2000")]), "m").unwrap().0,
            "chat"
        );
        assert_eq!(high(&policies, &stored(None, &[("fold.high", "2000")]), "m"), auto("3000"));
        let error = policies.of(&stored(Some("nothing"), &[]), "m").unwrap_err().to_string();
        assert!(error.contains("nothing"), "{error}");
    }

    /// A key of one policy would be an error in another.
    #[test]
    fn the_keys_of_a_user_apply_to_the_policy_that_the_user_prefers() {
        let keys = vec![("window.messages".to_owned(), "60".to_owned())];
        let user = ModelPolicy { name: Some("window".to_owned()), keys };
        let mut policies = Policies { user, ..Policies::default() };
        let policy = policies.of(&stored(None, &[]), "m").unwrap().unwrap();
        assert_eq!(policy.setting("window.messages").unwrap().as_integer(), Some(60));
        assert_eq!(policies.first(), "window");
        let chat = policies.of(&stored(Some("chat"), &[]), "m").unwrap().unwrap();
        assert_eq!(chat.name, "chat");
        policies.caller = Some("window".to_owned());
        let policy =
            policies.of(&stored(None, &[("window.messages", "30")]), "m").unwrap().unwrap();
        assert_eq!(policy.setting("window.messages").unwrap().as_integer(), Some(30));
    }

    #[test]
    fn a_new_session_stores_the_choice_of_caller_or_configuration() {
        let mut policies = Policies::default();
        assert_eq!(policies.first(), DEFAULT_POLICY);
        policies.config = Some("chat".to_owned());
        assert_eq!(policies.first(), "chat");
        policies.caller = Some("window".to_owned());
        assert_eq!(policies.first(), "window");
    }
}
