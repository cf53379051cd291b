//! Chooses the model: the configured one, else the default model of a provider whose key is set,
//! else one of a server on this machine, else the built-in offline model. Keys come from the
//! environment or from files; they are passed to the endpoint and never shown.

use std::sync::Arc;
use std::time::Duration;

use waterline::message::Wire;
use waterline::model::Models as Catalogue;
use waterline_agent::OFFLINE;
use waterline_provider::address::is_local;
use waterline_provider::http::{Endpoint, Key, Timeouts};
use waterline_provider::{local, wire};
use waterline_session::{ModelTarget, WindowSource};

use crate::config::Config;
use crate::environment::{ANTHROPIC_KEY, Environment, GEMINI_KEY, OPENAI_KEY, OWN_KEY};
use crate::error::ConfigError;
use crate::notice::Notice;
use crate::overrides::ModelOverrides;
use crate::prices;
use crate::settings::ModelSettings;

/// The variables that hold the providers' keys, and each provider's default model.
const PROVIDERS: [(&str, Wire, &str); 3] = [
    (ANTHROPIC_KEY, Wire::ANTHROPIC, "claude-sonnet-5"),
    (OPENAI_KEY, Wire::OPENAI_CHAT, "gpt-5.6"),
    (GEMINI_KEY, Wire::GEMINI, "gemini-2.5-pro"),
];

/// The models of a config.
#[derive(Clone, Copy, Debug)]
pub struct Models<'a> {
    /// The config that describes the models.
    pub config: &'a Config,
}

impl Models<'_> {
    /// Returns the main model.
    ///
    /// # Errors
    /// When its key or its address is missing or invalid.
    pub async fn primary(&self, overrides: &ModelOverrides) -> Result<ModelTarget, ConfigError> {
        let settings = &self.config.settings;
        let from_variable = || self.config.environment.variable("WATERLINE_MODEL");
        let from_config = || settings.model.clone();
        let named = overrides.model.clone().or_else(from_variable);
        // The caller's address is not that of the preferred model.
        let preferred = self.config.preferred_model.as_deref();
        let preferred = preferred.filter(|_| named.is_none() && overrides.base_url.is_none());
        let config_url = || settings.base_url.clone().filter(|_| overrides.model.is_none());
        let base = overrides.base_url.clone().or_else(config_url);
        let mut target = match (preferred, named.or_else(from_config), base) {
            (Some(name), ..) => self.preferred(name, overrides).await?,
            (None, Some(name), base) => self.named(&name, base, overrides)?,
            (None, None, Some(base)) => {
                let servers = [("the server", base.trim_end_matches('/').trim_end_matches("/v1"))];
                let Some(found) = local::find(&servers).await else {
                    // A server that cannot be reached is another error than one without a list.
                    local::reach(&base).await?;
                    return Err(ConfigError::NoModel { base });
                };
                self.local(local::Found { base, ..found }, overrides)?
            }
            (None, None, None) => self.unconfigured(overrides).await?,
        };
        if overrides.window.is_some() {
            target.window = overrides.window;
            target.window_source = WindowSource::Setting;
        }
        self.add_facts(&mut target).await;
        Ok(target)
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
    /// unknown.
    pub(crate) async fn add_facts(&self, target: &mut ModelTarget) {
        let address = target.model.address();
        let is_own = address.is_empty() || address == wire::default_base(target.model.wire());
        let is_known = target.window_source != WindowSource::Guess
            && target.window_source != WindowSource::Catalogue;
        if is_own || is_known && target.price.is_some() {
            return;
        }
        let facts = target.model.facts(&target.name).await;
        target.price = target.price.take().or(facts.price.as_ref().map(prices::of_server));
        if is_known {
            return;
        }
        if let Some(window) = facts.window {
            self.use_window(target, window, WindowSource::Server);
        } else if is_local(target.model.address()) {
            // The catalog has the largest window of the model, not the one it is served with.
            target.window_source = WindowSource::Guess;
        }
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
                    notices.push(Notice::Fallback { model: name.clone(), why: error.full_text() })
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
        for (name, _, model) in PROVIDERS {
            if self.config.environment.variable(name).is_some() {
                return self.named(model, None, overrides);
            }
        }
        match local::find(&local::USUAL).await {
            Some(found) => self.local(found, overrides),
            None => Ok(self.config.offline.target()),
        }
    }

    fn target(&self, name: &str, own: &ModelSettings) -> Result<ModelTarget, ConfigError> {
        if name == OFFLINE {
            return Ok(self.config.offline.target());
        }
        let wire = own.wire.unwrap_or_else(|| wire::of_model(name));
        let key = key(name, wire, own, &self.config.environment)?;
        let base = own.base_url.as_deref().unwrap_or_else(|| wire::default_base(wire));
        let endpoint = Endpoint::new(wire, own.base_url.as_deref(), key, self.timeouts(base, own))?;
        let mut entry = own.entry(name);
        let general = self.config.settings.tokenizer;
        entry.tokenizer = entry.tokenizer.or(general.map(|tokenizer| tokenizer.method(name)));
        let about = Catalogue::builtin().with([entry]).resolve(name);
        let in_table = || self.config.prices.find(name, base);
        let price = own.price.map(|price| price.price(&about)).or_else(in_table);
        let mut target =
            ModelTarget { about, window: own.window, price, ..ModelTarget::new(name, endpoint) };
        if own.window.is_some() {
            target.window_source = WindowSource::Setting;
        }
        Ok(target)
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
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| ConfigError::KeyFile { path: path.clone(), source })?;
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
    let provider =
        PROVIDERS.iter().find(|(_, known, _)| wire::provider(*known) == wire::provider(wire));
    let Some((variable, ..)) = provider else { return Ok(None) };
    match environment.variable(variable) {
        Some(key) => Ok(Some(Key::new(key))),
        None => Err(ConfigError::NoKey { model: name.to_owned(), variable }),
    }
}
