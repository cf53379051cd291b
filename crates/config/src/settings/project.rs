//! What the file of a project may not do: it may come from someone else.

use waterline::phrase;
use waterline_provider::address::is_local;

use super::{PROJECT, Settings};
use crate::error::ConfigError;
use crate::log::LogSettings;
use crate::notice::Notice;
use crate::recall::RecallSettings;

impl Settings {
    /// Rejects keys that a project's file may not set, and marks its addresses as untrusted: it may
    /// set addresses but no API keys.
    pub(crate) fn into_project(mut self) -> Result<Self, ConfigError> {
        let rejected = |key: String, why| Err(ConfigError::Project { file: PROJECT, key, why });
        for (name, model) in &mut self.models {
            let key = match (&model.key_env, &model.key_file) {
                (Some(_), _) => Some("key_env"),
                (None, Some(_)) => Some("key_file"),
                (None, None) => None,
            };
            if let Some(key) = key {
                return rejected(
                    format!("models.{name}.{key}"),
                    phrase!("project-names-key", "names an API key"),
                );
            }
            model.is_untrusted = model.base_url.is_some();
        }
        self.is_untrusted = self.base_url.is_some();
        if self.memory.is_some() {
            return rejected(
                "memory".to_owned(),
                phrase!("project-writes-files", "decides where files are written"),
            );
        }
        if self.recall != RecallSettings::default() {
            return rejected(
                "recall".to_owned(),
                phrase!("project-sends-messages", "decides where messages are sent"),
            );
        }
        if self.log != LogSettings::default() {
            return rejected(
                "log".to_owned(),
                phrase!("project-uses-resources", "decides how much memory is used"),
            );
        }
        if let Some(key) = self.agent.widening_key() {
            return rejected(
                format!("agent.{key}"),
                phrase!("project-decides-permissions", "decides what the agent may do"),
            );
        }
        if let Some(name) = self.mcp.keys().next() {
            return rejected(
                format!("mcp.{name}"),
                phrase!("project-starts-server", "starts or contacts a server"),
            );
        }
        Ok(self)
    }

    /// Removes models from a project's `fallback` and `summariser` whose address only the project's
    /// file sets: the user did not choose them. Servers on this machine are trusted. Returns a
    /// notice for each removed model.
    pub(crate) fn remove_untrusted_models(&mut self, user: &Self) -> Vec<Notice> {
        let models = &self.models;
        let is_untrusted = |name: &str| {
            let address = models.get(name).and_then(|model| model.base_url.as_deref());
            address.is_some_and(|address| !is_local(address)) && !user.models.contains_key(name)
        };
        let mut notices = Vec::new();
        let mut keep = |key: &'static str, name: &str| {
            let is_trusted = !is_untrusted(name);
            if !is_trusted {
                notices.push(Notice::UntrustedModel { key, model: name.to_owned() });
            }
            is_trusted
        };
        if let Some(names) = &mut self.fallback {
            names.retain(|name| keep("fallback", name));
        }
        self.summariser = self.summariser.take().filter(|name| keep("summariser", name));
        // An empty list must not replace the user's list.
        self.fallback = self.fallback.take().filter(|names| !names.is_empty());
        notices
    }
}
