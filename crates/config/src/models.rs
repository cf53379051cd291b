//! Chooses the model: the configured one, else the default model of a provider whose key is set,
//! else one of a server on this machine, else the built-in offline model. Keys come from the
//! environment or from files; they are passed to the endpoint and never shown.

use std::sync::Arc;
use std::time::Duration;

use waterline::message::Wire;
use waterline_agent::{OFFLINE, Offline};
use waterline_provider::address::{bare, is_local};
use waterline_provider::http::{Endpoint, Key, Timeouts};
use waterline_provider::{ModelFacts, local, wire};
use waterline_session::{ModelTarget, WindowSource};

use crate::config::Config;
use crate::environment::{Environment, OWN_KEY};
use crate::error::ConfigError;
use crate::notice::Notice;
use crate::overrides::ModelOverrides;
use crate::prices;
use crate::settings::ModelSettings;

/// The models of a config.
#[derive(Clone, Debug)]
pub struct Models<'a> {
    config: &'a Config,
    offline: Offline,
}

impl<'a> Models<'a> {
    /// Returns the models that a config describes.
    #[must_use]
    pub fn new(config: &'a Config) -> Self {
        Self::with_offline(config, Offline::default())
    }

    /// Returns the models that a config describes, with the offline model of a log.
    pub(crate) const fn with_offline(config: &'a Config, offline: Offline) -> Self {
        Self { config, offline }
    }
    /// Returns the main model.
    ///
    /// # Errors
    /// When its key or its address is missing or invalid.
    pub async fn primary(&self, overrides: &ModelOverrides) -> Result<ModelTarget, ConfigError> {
        let mut target = self.chosen(overrides).await?;
        let facts = self.add_facts(&mut target).await;
        let speaks_chat = facts.is_some_and(|facts| facts.lists_like_openai);
        if speaks_chat && self.is_wire_of_name(&target, overrides) {
            let chat = ModelOverrides { wire: Some(Wire::OPENAI_CHAT), ..overrides.clone() };
            target = self.chosen(&chat).await?;
            self.add_facts(&mut target).await;
        }
        Ok(target)
    }

    /// Whether only the name of a model says that its server uses the wire of another provider. A
    /// gateway may offer models of every provider on OpenAI's wire.
    fn is_wire_of_name(&self, target: &ModelTarget, overrides: &ModelOverrides) -> bool {
        let own = self.config.settings.models.get(&target.name).and_then(|own| own.wire);
        let is_openai = [Wire::OPENAI_CHAT, Wire::OPENAI_RESPONSES].contains(&target.model.wire());
        overrides.wire.or(own).is_none() && !is_openai
    }

    /// Returns the main model, without what its server reports.
    async fn chosen(&self, overrides: &ModelOverrides) -> Result<ModelTarget, ConfigError> {
        let settings = &self.config.settings;
        let from_variable = || self.config.environment.variable("WATERLINE_MODEL");
        let from_config = || settings.model.clone();
        let named = overrides.model.clone().or_else(from_variable);
        // The caller's address is not that of the preferred model.
        let preferred = self
            .config
            .preferred_model
            .as_deref()
            .filter(|_| named.is_none() && overrides.base_url.is_none());
        let config_url = || settings.base_url.clone().filter(|_| overrides.model.is_none());
        let base = overrides.base_url.clone().or_else(config_url);
        let mut target = match (preferred, named.or_else(from_config), base) {
            (Some(name), ..) => self.preferred(name, overrides).await?,
            (None, Some(name), base) => self.named(&name, base, overrides)?,
            (None, None, Some(base)) => {
                let servers = [("the server", base.trim_end_matches('/').trim_end_matches("/v1"))];
                let Some(mut found) = local::find(&servers).await else {
                    // An unreachable server is a different error from one that does not list its
                    // models.
                    local::reach(&base).await?;
                    return Err(ConfigError::NoModel { base });
                };
                found.base = base;
                let is_known = self.config.known_models().find(&found.model).is_some();
                match found.window {
                    // As if the model were named too.
                    None if is_known => self.named(&found.model, Some(found.base), overrides)?,
                    _ => self.local(found, overrides)?,
                }
            }
            (None, None, None) => self.unconfigured(overrides).await?,
        };
        if overrides.window.is_some() {
            target.window = overrides.window;
            target.window_source = WindowSource::Setting;
        }
        Ok(target)
    }

    /// Returns the address of the main model if the user gave it, by an override or in the user's
    /// config. One that the project's file names, or that was found, is not the user's.
    pub(crate) fn given_address(
        &self,
        overrides: &ModelOverrides,
        target: &ModelTarget,
    ) -> Option<String> {
        let settings = &self.config.settings;
        let own = settings.models.get(&target.name).filter(|own| !own.is_untrusted);
        let own = own.and_then(|own| own.base_url.as_deref());
        let general = settings.base_url.as_deref().filter(|_| !settings.is_untrusted);
        let address = target.model.address();
        // An address may be given with the path of the call.
        let is_at = |base: &str| {
            let rest = base.strip_prefix(address);
            !address.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let given = [overrides.base_url.as_deref(), own, general];
        given.into_iter().flatten().any(is_at).then(|| bare(address))
    }

    /// Returns a preferred model: as the config describes it, else at the config's server, else at
    /// its provider.
    async fn preferred(
        &self,
        name: &str,
        overrides: &ModelOverrides,
    ) -> Result<ModelTarget, ConfigError> {
        let settings = &self.config.settings;
        let elsewhere = self.named(name, None, overrides);
        let own = settings.models.get(name).and_then(|own| own.base_url.as_ref());
        let Some(base) = settings.base_url.clone().filter(|_| own.is_none()) else {
            return elsewhere;
        };
        let is_there = settings.model.as_deref() == Some(name)
            || elsewhere.is_err()
            || !settings.is_untrusted && local::may_have(&base, name).await;
        if is_there { self.named(name, Some(base), overrides) } else { elsewhere }
    }

    /// Adds what the model's server reports, if it is not a vendor's own server and something is
    /// unknown. Returns what it reports, if it was asked.
    pub(crate) async fn add_facts(&self, target: &mut ModelTarget) -> Option<ModelFacts> {
        let address = target.model.address();
        let is_own = address.is_empty() || address == wire::default_base(target.model.wire());
        let is_known = target.window_source != WindowSource::Guess
            && target.window_source != WindowSource::Catalog;
        if is_own || is_known && target.price.is_some() {
            return None;
        }
        let facts = target.model.facts(&target.name).await;
        target.is_missing = facts.is_missing;
        target.is_unreachable = facts.is_unreachable;
        target.price = target.price.take().or(facts.price.as_ref().map(prices::of_server));
        if is_known {
            return Some(facts);
        }
        if let Some(window) = facts.window {
            self.use_window(target, window, WindowSource::Server);
        } else if is_local(target.model.address()) {
            // The catalog has the largest window of the model, not the one it is served with.
            target.window_source = WindowSource::Guess;
        }
        Some(facts)
    }

    /// Sets the window that prompt and answer share; a quarter of it is the most that is reserved
    /// for the answer.
    fn use_window(&self, target: &mut ModelTarget, window: usize, source: WindowSource) {
        let own = self.config.settings.models.get(&target.name);
        let mut about = (*target.about).clone();
        about.output = own.and_then(|own| own.output).unwrap_or(about.output.min(window / 4));
        about.window = window;
        target.about = Arc::new(about);
        target.window_source = source;
    }

    /// Returns the fallback models, with a notice for each that cannot be used. That is not an
    /// error, because the main model may well answer.
    #[must_use]
    pub fn fallback(&self) -> (Vec<ModelTarget>, Vec<Notice>) {
        let mut targets = Vec::new();
        let mut notices = Vec::new();
        for name in self.config.settings.fallback.iter().flatten() {
            match self.find(name) {
                Ok(target) => targets.push(target),
                Err(error) => {
                    notices.push(Notice::Fallback { model: name.clone(), why: error.into() })
                }
            }
        }
        (targets, notices)
    }

    /// Returns the model that writes summaries, if one is configured.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn summariser(&self) -> Result<Option<ModelTarget>, ConfigError> {
        let found =
            self.config.settings.summariser.as_ref().map(|name| self.find(name)).transpose();
        found.map_err(|error| ConfigError::Summariser(Box::new(error)))
    }

    /// Returns a model by its name, with its settings applied.
    ///
    /// # Errors
    /// When its key or its address is missing or invalid.
    pub fn find(&self, name: &str) -> Result<ModelTarget, ConfigError> {
        let settings = &self.config.settings;
        let own = settings.models.get(name).cloned().unwrap_or_default();
        if own.base_url.is_none() && settings.model.as_deref() == Some(name) {
            let own = ModelSettings {
                base_url: settings.base_url.clone(),
                is_untrusted: settings.is_untrusted,
                ..own
            };
            return self.target(name, &own);
        }
        self.target(name, &own)
    }

    /// Returns a model by its name, with its settings and the caller's overrides applied.
    fn named(
        &self,
        name: &str,
        base: Option<String>,
        overrides: &ModelOverrides,
    ) -> Result<ModelTarget, ConfigError> {
        let settings = &self.config.settings;
        let own = settings.models.get(name).cloned().unwrap_or_default();
        let is_untrusted = match (&overrides.base_url, &base) {
            (Some(_), _) => false,
            (None, Some(_)) => settings.is_untrusted,
            (None, None) => own.is_untrusted,
        };
        let own = ModelSettings {
            // A key file that the caller passes is meant for this address.
            is_untrusted: is_untrusted && overrides.key_file.is_none(),
            base_url: base.or(own.base_url),
            wire: overrides.wire.or(own.wire),
            key_file: overrides.key_file.clone().or(own.key_file),
            ..own
        };
        self.target(name, &own)
    }

    /// Returns a model that a server offers, with the window that the server reports, or a small
    /// one.
    fn local(
        &self,
        found: local::Found,
        overrides: &ModelOverrides,
    ) -> Result<ModelTarget, ConfigError> {
        let mut target = self.named(&found.model, Some(found.base), overrides)?;
        if target.window_source != WindowSource::Setting {
            let source =
                if found.window.is_some() { WindowSource::Server } else { WindowSource::Guess };
            self.use_window(&mut target, found.window.unwrap_or(local::ASSUMED_WINDOW), source);
        }
        Ok(target)
    }

    /// Chooses a model when none is configured.
    async fn unconfigured(&self, overrides: &ModelOverrides) -> Result<ModelTarget, ConfigError> {
        for vendor in wire::vendors() {
            if let Some(model) = vendor.default_model
                && self.config.environment.variable(vendor.key_variable).is_some()
            {
                return self.named(model, None, overrides);
            }
        }
        match local::find(&local::USUAL).await {
            Some(found) => self.local(found, overrides),
            None => Ok(self.offline.target()),
        }
    }

    fn target(&self, name: &str, own: &ModelSettings) -> Result<ModelTarget, ConfigError> {
        if name == OFFLINE {
            return Ok(self.offline.target());
        }
        let wire = own.wire.unwrap_or_else(|| wire::of_model(name));
        let key = key(name, wire, own, &self.config.environment)
            .map_err(|error| self.if_unknown(name, error))?;
        let base = own.base_url.as_deref().unwrap_or_else(|| wire::default_base(wire));
        let endpoint = Endpoint::new(wire, own.base_url.as_deref(), key, self.timeouts(base, own))?;
        let endpoint = match own.prompt_cache_key {
            Some(takes) => endpoint.with_cache_key(takes),
            None => endpoint,
        };
        let about = self.config.known_models().with([own.entry(name)]).resolve(name);
        let in_table = || self.config.prices.find(name, base);
        let price = own.price.map(|price| price.price(&about)).or_else(in_table);
        let mut target =
            ModelTarget { about, window: own.window, price, ..ModelTarget::new(name, endpoint) };
        if own.window.is_some() {
            target.window_source = WindowSource::Setting;
        }
        Ok(target)
    }

    /// Explains a missing key: nothing says that a model without an entry in the catalog or in the
    /// config is one of that provider.
    fn if_unknown(&self, name: &str, error: ConfigError) -> ConfigError {
        let is_known = self.config.known_models().find(name).is_some();
        match error {
            ConfigError::NoKey { model, variable } if !is_known => {
                ConfigError::UnknownModel { model, variable }
            }
            error => error,
        }
    }

    /// Returns the timeouts of a model: its own settings, the general ones, or the defaults for its
    /// address.
    fn timeouts(&self, base: &str, own: &ModelSettings) -> Timeouts {
        let settings = &self.config.settings;
        let usual = Timeouts::for_address(base);
        let seconds = |own: Option<u64>, general: Option<u64>, usual: Duration| {
            own.or(general).map_or(usual, Duration::from_secs)
        };
        Timeouts {
            first_token: seconds(
                own.first_token_timeout,
                settings.first_token_timeout,
                usual.first_token,
            ),
            silence: seconds(own.silence_timeout, settings.silence_timeout, usual.silence),
            ..usual
        }
    }
}

/// Returns a model's key. A provider's key is not sent to another address unless the user
/// configures that.
pub(crate) fn key(
    name: &str,
    wire: Wire,
    own: &ModelSettings,
    environment: &Environment,
) -> Result<Option<Key>, ConfigError> {
    if own.is_untrusted {
        return Ok(None);
    }
    if let Some(path) = &own.key_file {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::KeyFile { path: path.clone(), source })?;
        return Ok(Some(Key::new(text)));
    }
    if let Some(variable) = &own.key_env {
        let missing =
            || ConfigError::KeyVariable { model: name.to_owned(), variable: variable.clone() };
        return Ok(Some(Key::new(environment.variable(variable).ok_or_else(missing)?)));
    }
    if own.base_url.is_some() {
        return Ok(environment.variable(OWN_KEY).map(Key::new));
    }
    let Some(wire::Vendor { key_variable: variable, .. }) = wire::vendor(wire) else {
        return Ok(None);
    };
    match environment.variable(variable) {
        Some(key) => Ok(Some(Key::new(key))),
        None => Err(ConfigError::NoKey { model: name.to_owned(), variable }),
    }
}
