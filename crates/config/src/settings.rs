//! The settings of a config file, and how two files are merged: key by key, the later file wins. A
//! project's file may come from someone else, so it may not widen what the user allows.

mod memory;
mod model;
mod project;

pub(crate) use memory::Memory;
pub use model::ModelSettings;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::agent::{AgentSettings, McpSettings};
use crate::error::ConfigError;
use crate::lang::Lang;
use crate::log::LogSettings;
use crate::recall::{self, RecallSettings};
use crate::seed::{self, SeedValues};
use crate::tokenizer::Tokenizer;
use model::check_timeouts;

/// The name of the project's config file, in the working directory.
pub(crate) const PROJECT: &str = "waterline.toml";

/// The settings of config files and environment variables.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The model of new sessions, unless a flag, a role or a preference names another.
    pub model: Option<String>,
    /// The base URL of the main model's server.
    pub base_url: Option<String>,
    /// Models to try, in this order, when the main model fails.
    pub fallback: Option<Vec<String>>,
    /// The model that writes summaries.
    pub summariser: Option<String>,
    /// The policy: the name of a preset, or a file.
    pub policy: Option<String>,
    /// The memory across sessions: its directory, `false` for none, or a table.
    pub memory: Option<Memory>,
    /// How tokens are counted, for models that have no setting of their own.
    pub tokenizer: Option<Tokenizer>,
    /// The language: `en` or `zh`.
    pub lang: Option<Lang>,
    /// Seconds to wait for the first token of an answer (default: 300; 1800 for a server on this
    /// machine, which may read a long prompt slowly).
    pub first_token_timeout: Option<u64>,
    /// Seconds without data after which an answer counts as interrupted.
    pub silence_timeout: Option<u64>,
    /// The `[models.NAME]` sections.
    #[serde(default)]
    pub models: BTreeMap<String, ModelSettings>,
    /// The `[recall]` section.
    #[serde(default)]
    pub recall: RecallSettings,
    /// The `[log]` section.
    #[serde(default)]
    pub log: LogSettings,
    /// The `[agent]` section.
    #[serde(default)]
    pub agent: AgentSettings,
    /// The `[mcp.NAME]` sections.
    #[serde(default)]
    pub mcp: BTreeMap<String, McpSettings>,
    /// Values of settings that have the names of the agents that presets reproduce.
    #[serde(skip)]
    pub seeds: SeedValues,
    /// Whether `base_url` comes from the project's file. No key is sent to such an address unless
    /// the user passes one for it.
    #[serde(skip)]
    pub is_untrusted: bool,
}

impl Settings {
    /// Parses a config file. Unknown keys and values out of range are errors.
    ///
    /// # Errors
    /// When the text is not TOML, or a key or a value is not allowed.
    pub(crate) fn parse(text: &str) -> Result<Self, ConfigError> {
        let mut table: toml::Table = toml::from_str(text)?;
        let whole = table.clone();
        let seeds = seed::lift(&mut table);
        seed::rename(&mut table);
        recall::rename(&mut table);
        // An error in the text itself names the line.
        let settings: Self =
            if table == whole { toml::from_str(text)? } else { table.try_into()? };
        let settings = Self { seeds, ..settings };
        settings.models.iter().try_for_each(|(name, model)| model.check(name))?;
        check_timeouts("", settings.first_token_timeout, settings.silence_timeout)?;
        settings.recall.check()?;
        settings.log.check()?;
        settings.agent.check()?;
        settings.mcp.iter().try_for_each(|(name, server)| server.check(name))?;
        Ok(settings)
    }

    /// Makes the paths in a file absolute: relative ones start in the file's directory, and `~/` is
    /// the home directory.
    pub(crate) fn resolve_paths(
        mut self,
        file: &Path,
        home: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let directory = file.parent().unwrap_or(Path::new(""));
        let agent = &mut self.agent;
        let named = self
            .memory
            .iter_mut()
            .filter_map(Memory::directory_mut)
            .chain(&mut agent.workspaces)
            .chain(&mut agent.read_dirs);
        let granted = agent.allow_dirs.iter_mut().map(|grant| &mut grant.path);
        let keys = self.models.values_mut().filter_map(|model| model.key_file.as_mut());
        for path in named.chain(granted).chain(keys) {
            *path = match (path.strip_prefix("~"), home) {
                (Err(_), _) => directory.join(&*path),
                (Ok(rest), Some(home)) => home.join(rest),
                (Ok(_), None) => return Err(ConfigError::NoHome(path.clone())),
            };
        }
        Ok(self)
    }

    /// Returns the names of the policies, which may be paths.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &str> {
        let of_models = self.models.values().filter_map(|model| model.policy.as_deref());
        self.policy.as_deref().into_iter().chain(of_models)
    }

    /// Returns these settings overridden by newer ones.
    pub(crate) fn merge(self, newer: Self) -> Self {
        let mut models = self.models;
        for (name, model) in newer.models {
            let older = models.remove(&name).unwrap_or_default();
            models.insert(name, older.merge(model));
        }
        Self {
            is_untrusted: if newer.base_url.is_some() {
                newer.is_untrusted
            } else {
                self.is_untrusted
            },
            model: newer.model.or(self.model),
            base_url: newer.base_url.or(self.base_url),
            fallback: newer.fallback.or(self.fallback),
            summariser: newer.summariser.or(self.summariser),
            policy: newer.policy.or(self.policy),
            memory: newer.memory.or(self.memory),
            tokenizer: newer.tokenizer.or(self.tokenizer),
            lang: newer.lang.or(self.lang),
            first_token_timeout: newer.first_token_timeout.or(self.first_token_timeout),
            silence_timeout: newer.silence_timeout.or(self.silence_timeout),
            models,
            recall: self.recall.merge(newer.recall),
            log: self.log.merge(newer.log),
            agent: self.agent.merge(newer.agent),
            mcp: self.mcp.into_iter().chain(newer.mcp).collect(),
            seeds: self.seeds.into_iter().chain(newer.seeds).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use waterline::message::Wire;

    use super::*;
    use crate::prices::PriceSetting;

    fn parsed(text: &str) -> Settings {
        Settings::parse(text).unwrap()
    }

    #[test]
    fn model_settings_win_over_the_catalog() {
        let text = concat!(
            "[models.gpt-4o]\noutput = 2000\nimages = false\n",
            "[models.mine]\ntokenizer = \"o200k\"\nimages = true",
        );
        let settings = parsed(text);
        let models = waterline::Models::builtin()
            .with(settings.models.iter().map(|(name, own)| own.entry(name)));
        let known = models.resolve("gpt-4o");
        assert_eq!((known.window, known.output, known.images), (128_000, 2_000, false));
        let own = models.resolve("mine");
        assert!(own.images && own.counter().method() == waterline::tokens::Method::O200k);
        let error = Settings::parse("[models.a]\ntokenizer = \"letters\"").unwrap_err().to_string();
        assert!(error.contains("o200k"), "{error}");
        let error = Settings::parse("[models.a]\ncache_read = -1.0").unwrap_err().to_string();
        assert!(error.contains("models.a.cache_read"), "{error}");
    }

    #[test]
    fn project_file_wins_key_by_key() {
        let user = parsed("model = \"a\"\npolicy = \"chat\"\n[models.a]\nwindow = 1000");
        let project =
            parsed("model = \"b\"\n[models.a]\nprice = 3.0\n[models.b]\nwire = \"anthropic\"");
        let both = user.merge(project);
        assert_eq!((both.model.as_deref(), both.policy.as_deref()), (Some("b"), Some("chat")));
        assert_eq!(
            (both.models["a"].window, both.models["a"].price),
            (Some(1_000), Some(PriceSetting::Input(3.0)))
        );
        assert_eq!(
            (both.models["a"].window, both.models["b"].wire),
            (Some(1_000), Some(Wire::ANTHROPIC))
        );
    }

    /// A project from someone else must not get at the user's keys.
    #[test]
    fn project_file_cannot_set_keys_or_memory() {
        let project = |text: &str| parsed(text).into_project();
        for (key, value) in [("key_env", "ANTHROPIC_API_KEY"), ("key_file", "/home/me/.ssh/id")] {
            let text = format!("[models.a]\nbase_url = \"https://elsewhere\"\n{key} = \"{value}\"");
            let error = project(&text).unwrap_err().to_string();
            assert!(
                error.contains(&format!("waterline.toml sets models.a.{key}, which names an API")),
                "{error}"
            );
        }
        let user = parsed("[models.a]\nkey_env = \"MY_KEY\"");
        let both = user.merge(project("[models.a]\nbase_url = \"https://elsewhere\"").unwrap());
        assert!(
            both.models["a"].is_untrusted,
            "the user's key is not meant for the project's address"
        );
        let error = project("[recall]\nencoder = \"http://elsewhere\"").unwrap_err().to_string();
        assert!(error.contains("waterline.toml sets recall, which decides where"), "{error}");
        let error = project("memory = \"mem\"").unwrap_err().to_string();
        assert!(
            error.contains("waterline.toml sets memory") && error.contains("user config"),
            "{error}"
        );
    }

    #[test]
    fn relative_paths_start_in_the_directory_of_the_file() {
        let text = "memory = \"notes\"\n[agent]\nworkspaces = \"/srv/ws\"\nread_dirs = [\"sdk\"]\n\
                    allow_dirs = [\"data:ro\"]\n[models.a]\nkey_file = \"a.key\"";
        let settings =
            parsed(text).resolve_paths(Path::new("/etc/waterline/config.toml"), None).unwrap();
        assert_eq!(settings.memory, Some(Memory::Directory(PathBuf::from("/etc/waterline/notes"))));
        assert_eq!(settings.agent.workspaces, Some(PathBuf::from("/srv/ws")));
        assert_eq!(settings.agent.read_dirs, [PathBuf::from("/etc/waterline/sdk")]);
        let grant = &settings.agent.allow_dirs[0];
        assert_eq!(
            (grant.path.as_path(), grant.writable),
            (Path::new("/etc/waterline/data"), false)
        );
        assert_eq!(settings.models["a"].key_file, Some(PathBuf::from("/etc/waterline/a.key")));
        let error =
            parsed("memory = \"~/notes\"").resolve_paths(Path::new("c.toml"), None).unwrap_err();
        assert!(error.to_string().contains("HOME is not set"), "{error}");
    }

    #[test]
    fn unknown_keys_are_rejected_by_name() {
        let error = Settings::parse("modle = \"a\"").unwrap_err().to_string();
        assert!(error.contains("modle"), "{error}");
        assert!(Settings::parse("[models.a]\nwire = \"telegraph\"").is_err());
    }

    #[test]
    fn values_out_of_range_are_rejected_with_the_range() {
        for (text, message) in [
            ("[models.a]\nwindow = 0", "models.a.window is 0; it must be at least 1"),
            ("[models.a]\nprice = -1.5", "models.a.price is -1.5; it must be at least 0"),
            ("silence_timeout = 0", "silence_timeout is 0; it must be at least 1"),
            (
                "[agent]\nsteps = 1001",
                "agent.steps is 1001; it must be a whole number from 1 to 1000",
            ),
        ] {
            assert_eq!(Settings::parse(text).unwrap_err().to_string(), message);
        }
    }
}
