//! Which model answers: the one that is named, else the one whose key is there, else one on this
//! machine, else the built-in one. Keys come from the environment or from files; they are passed on
//! and never shown.

use waterline::message::Wire;
use waterline::model::Models as Catalogue;
use waterline_agent::{OFFLINE, Offline};
use waterline_provider::http::{Endpoint, Key, Timeouts};
use waterline_provider::{local, wire};
use waterline_session::ModelTarget;

use crate::config::Config;
use crate::environment::{ANTHROPIC_KEY, Environment, GEMINI_KEY, OPENAI_KEY, OWN_KEY};
use crate::error::ConfigError;
use crate::notice::Notice;
use crate::overrides::ModelOverrides;
use crate::settings::ModelSettings;

/// The variables of the providers' keys, and the model that answers there if none is named.
const PROVIDERS: [(&str, Wire, &str); 3] = [
    (ANTHROPIC_KEY, Wire::ANTHROPIC, "claude-sonnet-5"),
    (OPENAI_KEY, Wire::OPENAI_CHAT, "gpt-5.6"),
    (GEMINI_KEY, Wire::GEMINI, "gemini-2.5-pro"),
];

/// The models that settings describe.
#[derive(Clone, Copy, Debug)]
pub struct Models<'a> {
    /// The settings.
    pub config: &'a Config,
}

impl Models<'_> {
    /// The model that answers.
    ///
    /// # Errors
    /// When its key or its address cannot be used.
    pub async fn primary(&self, overrides: &ModelOverrides) -> Result<ModelTarget, ConfigError> {
        let settings = &self.config.settings;
        let of_variable = || self.config.environment.variable("WATERLINE_MODEL");
        let name = overrides.model.clone().or_else(of_variable).or_else(|| settings.model.clone());
        let of_config = || settings.base_url.clone().filter(|_| overrides.model.is_none());
        let base = overrides.base_url.clone().or_else(of_config);
        let mut found = match (name, base) {
            (Some(name), base) => self.named(&name, base, overrides)?,
            (None, Some(base)) => {
                let servers = [("the server", base.trim_end_matches('/').trim_end_matches("/v1"))];
                let found = local::find(&servers).await;
                let found = found.ok_or_else(|| ConfigError::NoModel { base: base.clone() })?;
                self.local(local::Found { base, ..found }, overrides)?
            }
            (None, None) => self.without_setup(overrides).await?,
        };
        found.window = overrides.window.or(found.window);
        Ok(found)
    }

    /// The models that answer when the first fails, and a notice about each that cannot be used:
    /// the first may well answer.
    #[must_use]
    pub fn fallback(&self) -> (Vec<ModelTarget>, Vec<Notice>) {
        let (mut found, mut notices) = (Vec::new(), Vec::new());
        for name in self.config.settings.fallback.iter().flatten() {
            match self.find(name) {
                Ok(candidate) => found.push(candidate),
                Err(error) => {
                    notices.push(Notice::Fallback { model: name.clone(), why: error.full_text() })
                }
            }
        }
        (found, notices)
    }

    /// The model that writes summaries.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn summariser(&self) -> Result<Option<ModelTarget>, ConfigError> {
        let found =
            self.config.settings.summariser.as_ref().map(|name| self.find(name)).transpose();
        found.map_err(|error| ConfigError::Summariser(Box::new(error)))
    }

    /// A model by its name, with what the settings say about it.
    ///
    /// # Errors
    /// When its key or its address cannot be used.
    pub fn find(&self, name: &str) -> Result<ModelTarget, ConfigError> {
        let settings = &self.config.settings;
        let own = settings.models.get(name).cloned().unwrap_or_default();
        if own.base_url.is_none() && settings.model.as_deref() == Some(name) {
            let (base_url, is_untrusted) = (settings.base_url.clone(), settings.is_untrusted);
            return self.candidate(name, &ModelSettings { base_url, is_untrusted, ..own });
        }
        self.candidate(name, &own)
    }

    /// A model that is named, with what the settings say about it.
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
            // A key file that the caller names is meant for just this address.
            is_untrusted: is_untrusted && overrides.key_file.is_none(),
            base_url: base.or(own.base_url),
            wire: overrides.wire.or(own.wire),
            key_file: overrides.key_file.clone().or(own.key_file),
            ..own
        };
        self.candidate(name, &own)
    }

    /// A model that a server offers, with the window that it reports.
    fn local(
        &self,
        found: local::Found,
        overrides: &ModelOverrides,
    ) -> Result<ModelTarget, ConfigError> {
        let mut candidate = self.named(&found.model, Some(found.base), overrides)?;
        // A quarter of the window is kept for the answer.
        candidate.window = candidate.window.or(Some(found.window * 3 / 4));
        Ok(candidate)
    }

    /// What is there without any set-up.
    async fn without_setup(&self, overrides: &ModelOverrides) -> Result<ModelTarget, ConfigError> {
        for (name, _, model) in PROVIDERS {
            if self.config.environment.variable(name).is_some() {
                return self.named(model, None, overrides);
            }
        }
        match local::find(&local::USUAL).await {
            Some(found) => self.local(found, overrides),
            None => Ok(offline()),
        }
    }

    fn candidate(&self, name: &str, own: &ModelSettings) -> Result<ModelTarget, ConfigError> {
        if name == OFFLINE {
            return Ok(offline());
        }
        let wire = own.wire.unwrap_or_else(|| wire::of_model(name));
        let key = key(name, wire, own, &self.config.environment)?;
        let endpoint = Endpoint::new(wire, own.base_url.as_deref(), key, Timeouts::default())?;
        let mut entry = own.entry(name);
        let general = self.config.settings.tokenizer;
        entry.tokenizer = entry.tokenizer.or(general.map(|tokenizer| tokenizer.method(name)));
        let about = Catalogue::builtin().with([entry]).resolve(name);
        Ok(ModelTarget {
            about,
            window: own.window,
            price: own.price,
            ..ModelTarget::new(name, endpoint)
        })
    }
}

/// The offline model, which says how to connect another one.
fn offline() -> ModelTarget {
    Offline::candidate(
        "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, start a local server, or configure a model and its address.",
    )
}

/// The key of a model. A provider's key is not sent to another address unless the user says so.
fn key(
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
