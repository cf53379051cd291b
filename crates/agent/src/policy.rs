//! Which policy holds for a session and a model. This is decided here and nowhere else:
//! [`Policies`] collects where policies are named, [`Policies::of`] chooses one and loads it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use waterline::policy::Policy;
use waterline_log::Session;
use waterline_session::SessionConfig;

use crate::error::AgentError;

/// The policy that holds where none is named. A session stores it when it is created without a
/// choice, so a session that has it leaves the choice to its role, its settings and its model.
pub const DEFAULT_POLICY: &str = "auto";

/// Keys of a policy, and their values.
pub type PolicyKeys = Vec<(String, String)>;

/// Loads a policy by its name or file, with some keys set differently.
pub type LoadPolicy =
    Arc<dyn Fn(&str, &[(String, String)]) -> Result<Policy, String> + Send + Sync>;

/// Where policies are named, apart from the session.
#[derive(Clone)]
pub struct Policies {
    /// By the caller, above everything else: a flag, a field of a request.
    pub caller: Option<String>,
    /// Keys that the caller sets in whichever policy is loaded by its name.
    pub keys: PolicyKeys,
    /// By the role.
    pub role: Option<Policy>,
    /// By settings of the agent that stand for a policy, such as the middleware `summarization`.
    pub made: Option<Policy>,
    /// By the config.
    pub config: Option<String>,
    /// By the config for single models.
    pub models: BTreeMap<String, ModelPolicy>,
    /// Loads a policy by its name.
    pub load: LoadPolicy,
}

/// What the config sets for one model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelPolicy {
    /// Its policy.
    pub name: Option<String>,
    /// Keys that are set differently for it.
    pub keys: PolicyKeys,
}

impl Default for Policies {
    fn default() -> Self {
        let load: LoadPolicy = Arc::new(|name, keys| {
            Policy::preset_with(name, keys).map_err(|error| error.to_string())
        });
        let (keys, models) = (PolicyKeys::new(), BTreeMap::new());
        Self { caller: None, keys, role: None, made: None, config: None, models, load }
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = (&self.caller, self.role.as_ref().map(|role| &role.name), &self.config);
        f.debug_tuple("Policies").field(&names).finish()
    }
}

/// Where the policy that holds is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Caller,
    Session,
    Role,
    Made,
    Config,
    Model,
    Default,
}

impl Policies {
    /// Decides where the policy of a session and a model comes from: caller > session > role >
    /// settings > model > default. A session that stores the default made no choice; it still keeps
    /// a config that was changed later away.
    fn source(&self, session: Option<&str>, model: Option<&str>) -> Source {
        let chose_default = session == Some(DEFAULT_POLICY);
        match () {
            () if self.caller.is_some() => Source::Caller,
            () if session.is_some() && !chose_default => Source::Session,
            () if self.role.is_some() => Source::Role,
            () if self.made.is_some() => Source::Made,
            () if self.config.is_some() && !chose_default => Source::Config,
            () if model.is_some() => Source::Model,
            () => Source::Default,
        }
    }

    /// The policy of a session with a model; none where nothing is named and no key is set.
    ///
    /// # Errors
    /// When there is no such policy, or a key does not fit it.
    pub fn of(&self, session: &Session, model: &str) -> Result<Option<Policy>, AgentError> {
        let own = self.models.get(model).cloned().unwrap_or_default();
        let stored = session.policy.as_deref();
        let name = match self.source(stored, own.name.as_deref()) {
            Source::Role => return Ok(self.role.clone()),
            Source::Made => return Ok(self.made.clone()),
            Source::Caller => self.caller.as_deref(),
            Source::Session => stored,
            Source::Config => self.config.as_deref(),
            Source::Model => own.name.as_deref(),
            Source::Default => None,
        };
        let overrides = session.overrides.iter().map(|(key, value)| (key.clone(), value.clone()));
        let keys: PolicyKeys =
            own.keys.iter().cloned().chain(overrides).chain(self.keys.iter().cloned()).collect();
        if name.is_none() && keys.is_empty() {
            return Ok(None);
        }
        (self.load)(name.unwrap_or(DEFAULT_POLICY), &keys).map(Some).map_err(AgentError::Setting)
    }

    /// The name of the policy that a new session stores: what the caller or the config chooses.
    #[must_use]
    pub fn first(&self) -> &str {
        self.caller.as_deref().or(self.config.as_deref()).unwrap_or(DEFAULT_POLICY)
    }

    /// Gives each model of a setup the policy that holds for it in a session.
    pub(crate) fn apply(
        &self,
        setup: &mut SessionConfig,
        session: &Session,
    ) -> Result<(), AgentError> {
        if let Some(policy) = self.of(session, &setup.model.name)? {
            setup.policy = policy;
            setup.model.policy = None;
        }
        for model in &mut setup.fallback {
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

    /// Which source names a policy: each row says who does, and whose holds.
    #[test]
    fn the_first_that_names_a_policy_wins() {
        use Source::{Caller, Config, Default, Made, Model, Role, Session};
        let rows: [(&[Source], Source); 12] = [
            (&[], Default),
            (&[Model], Model),
            (&[Config, Model], Config),
            (&[Made, Config, Model], Made),
            (&[Role, Made, Config, Model], Role),
            (&[Session, Role, Made, Config, Model], Session),
            (&[Caller, Session, Role, Made, Config, Model], Caller),
            // A session that stores the default made no choice, and a config that was set later
            // does not change it.
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

    /// Keys that are set for a model, in the session and by the caller apply to whichever policy is
    /// loaded by its name, the caller's last.
    #[test]
    fn keys_of_model_session_and_caller_apply_to_the_policy_that_holds() {
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

    #[test]
    fn a_new_session_stores_what_caller_or_config_choose() {
        let mut policies = Policies::default();
        assert_eq!(policies.first(), DEFAULT_POLICY);
        policies.config = Some("chat".to_owned());
        assert_eq!(policies.first(), "chat");
        policies.caller = Some("window".to_owned());
        assert_eq!(policies.first(), "window");
    }
}
