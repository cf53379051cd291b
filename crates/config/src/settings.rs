//! The settings of a config file, and how two files are merged: key by key, the later file wins. A
//! project's file may come from someone else, so it may not widen what the user allows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use waterline::message::Wire;
use waterline::model::ModelEntry;
use waterline_provider::address::is_local;

use crate::agent::{AgentSettings, McpSettings};
use crate::error::ConfigError;
use crate::lang::Lang;
use crate::notice::Notice;
use crate::prices::PriceSetting;
use crate::recall::RecallSettings;
use crate::seed::{self, SeedValues};
use crate::tokenizer::Tokenizer;

/// The name of the project's config file, in the working directory.
pub(crate) const PROJECT: &str = "waterline.toml";

/// The settings of config files and environment variables.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The main model.
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

/// Settings of one model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// The base URL of the model's server.
    pub base_url: Option<String>,
    /// The wire format that the server uses.
    #[serde(default, deserialize_with = "wire")]
    pub wire: Option<Wire>,
    /// The environment variable that holds the API key.
    pub key_env: Option<String>,
    /// The file that holds the API key.
    pub key_file: Option<PathBuf>,
    /// Maximum number of tokens in a prompt.
    pub window: Option<usize>,
    /// Tokens reserved for the answer.
    pub output: Option<usize>,
    /// Characters per token, if tokens are estimated.
    pub chars_per_token: Option<f64>,
    /// Whether the model accepts images.
    pub images: Option<bool>,
    /// Tokens per image.
    pub image_tokens: Option<usize>,
    /// Price of a prompt token read from the cache, relative to an uncached one.
    pub cache_read: Option<f64>,
    /// Price of a prompt token written to the cache, relative to an uncached one.
    pub cache_write: Option<f64>,
    /// Prompts shorter than this are not cached.
    pub cache_minimum: Option<usize>,
    /// Seconds for which a cached prompt is kept.
    pub cache_life: Option<u64>,
    /// Whether the limit of the answer is sent as `max_completion_tokens` on the wire `openai-chat`.
    pub max_completion_tokens: Option<bool>,
    /// How tokens are counted: `o200k`, `cl100k`, `estimate` or `tiktoken`.
    pub tokenizer: Option<Tokenizer>,
    /// The price of a million prompt tokens, or all prices: `{ input = 3.0, cached = 0.3, written =
    /// 3.75, output = 15.0 }`. By default that of the price table.
    pub price: Option<PriceSetting>,
    /// Seconds to wait for the first token of an answer. By default that of the whole config.
    pub first_token_timeout: Option<u64>,
    /// Seconds without data after which an answer counts as interrupted. By default that of the
    /// whole config.
    pub silence_timeout: Option<u64>,
    /// The policy for this model.
    pub policy: Option<String>,
    /// Keys of the policy to change for this model: `"fold.high" = 90000`.
    #[serde(default)]
    pub set: BTreeMap<String, toml::Value>,
    /// Whether `base_url` comes from the project's file. No key is sent to such an address unless
    /// the user passes one for it.
    #[serde(skip)]
    pub is_untrusted: bool,
}

impl ModelSettings {
    /// Returns these settings overridden by newer ones.
    fn merge(mut self, newer: Self) -> Self {
        self.set.extend(newer.set);
        Self {
            is_untrusted: if newer.base_url.is_some() {
                newer.is_untrusted
            } else {
                self.is_untrusted
            },
            base_url: newer.base_url.or(self.base_url),
            wire: newer.wire.or(self.wire),
            key_env: newer.key_env.or(self.key_env),
            key_file: newer.key_file.or(self.key_file),
            window: newer.window.or(self.window),
            output: newer.output.or(self.output),
            chars_per_token: newer.chars_per_token.or(self.chars_per_token),
            images: newer.images.or(self.images),
            image_tokens: newer.image_tokens.or(self.image_tokens),
            cache_read: newer.cache_read.or(self.cache_read),
            cache_write: newer.cache_write.or(self.cache_write),
            cache_minimum: newer.cache_minimum.or(self.cache_minimum),
            cache_life: newer.cache_life.or(self.cache_life),
            max_completion_tokens: newer.max_completion_tokens.or(self.max_completion_tokens),
            tokenizer: newer.tokenizer.or(self.tokenizer),
            price: newer.price.or(self.price),
            first_token_timeout: newer.first_token_timeout.or(self.first_token_timeout),
            silence_timeout: newer.silence_timeout.or(self.silence_timeout),
            policy: newer.policy.or(self.policy),
            set: self.set,
        }
    }

    /// Returns the model's own properties as a catalogue entry. The window is not among them: here
    /// it limits the prompt, in the catalogue it includes the answer.
    pub(crate) fn entry(&self, name: &str) -> ModelEntry {
        let mut entry = ModelEntry::new(name);
        entry.tokenizer = self.tokenizer.map(|tokenizer| tokenizer.method(name));
        entry.output = self.output;
        entry.chars_per_token = self.chars_per_token;
        entry.images = self.images;
        entry.image_tokens = self.image_tokens;
        entry.cache_read = self.cache_read;
        entry.cache_write = self.cache_write;
        entry.cache_minimum = self.cache_minimum;
        entry.cache_life = self.cache_life;
        entry.max_completion_tokens = self.max_completion_tokens;
        entry
    }

    /// Rejects values that no model can have.
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        if self.window == Some(0) {
            return Err(ConfigError::range(format!("models.{name}.window"), 0, "at least 1"));
        }
        let numbers = [
            ("chars_per_token", self.chars_per_token),
            ("cache_read", self.cache_read),
            ("cache_write", self.cache_write),
        ];
        let is_invalid = |number: &f64| !number.is_finite() || *number < 0.0;
        for (key, number) in numbers {
            if let Some(invalid) = number.filter(is_invalid) {
                return Err(ConfigError::range(
                    format!("models.{name}.{key}"),
                    invalid,
                    "at least 0",
                ));
            }
        }
        if let Some(price) = &self.price {
            price.check(&format!("models.{name}.price"))?;
        }
        check_timeouts(&format!("models.{name}."), self.first_token_timeout, self.silence_timeout)
    }
}

/// Rejects a timeout of 0 seconds: it would end every call.
fn check_timeouts(
    section: &str,
    first_token: Option<u64>,
    silence: Option<u64>,
) -> Result<(), ConfigError> {
    for (key, seconds) in [("first_token_timeout", first_token), ("silence_timeout", silence)] {
        if seconds == Some(0) {
            return Err(ConfigError::range(format!("{section}{key}"), 0, "at least 1"));
        }
    }
    Ok(())
}

fn wire<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Wire>, D::Error> {
    let name = String::deserialize(deserializer)?;
    waterline_provider::wire::named(&name).map(Some).map_err(serde::de::Error::custom)
}

/// The memory across sessions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Memory {
    /// On, in this directory.
    Directory(PathBuf),
    /// On in the usual directory, or off.
    On(bool),
    /// On, with more settings.
    Table(MemoryTable),
}

/// The settings of the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryTable {
    /// The directory of `MEMORY.md` and of the daily files.
    pub directory: Option<PathBuf>,
    /// Whether lasting facts of summaries are written to `MEMORY.md`.
    pub extract: bool,
}

impl Memory {
    /// Returns whether there is a memory.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        !matches!(self, Self::On(false))
    }

    /// Returns the directory, if it is not the usual one.
    #[must_use]
    pub const fn directory(&self) -> Option<&PathBuf> {
        match self {
            Self::Directory(path) => Some(path),
            Self::Table(table) => table.directory.as_ref(),
            Self::On(_) => None,
        }
    }

    /// Returns whether lasting facts of summaries are written to `MEMORY.md`.
    #[must_use]
    pub const fn extracts(&self) -> bool {
        matches!(self, Self::Table(MemoryTable { extract: true, .. }))
    }

    const fn directory_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Self::Directory(path) => Some(path),
            Self::Table(table) => table.directory.as_mut(),
            Self::On(_) => None,
        }
    }
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
        // An error in the text itself names the line.
        let settings: Self =
            if table == whole { toml::from_str(text)? } else { table.try_into()? };
        let settings = Self { seeds, ..settings };
        settings.models.iter().try_for_each(|(name, model)| model.check(name))?;
        check_timeouts("", settings.first_token_timeout, settings.silence_timeout)?;
        settings.recall.check()?;
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
                return rejected(format!("models.{name}.{key}"), "names an API key");
            }
            model.is_untrusted = model.base_url.is_some();
        }
        self.is_untrusted = self.base_url.is_some();
        if self.memory.is_some() {
            return rejected("memory".to_owned(), "decides where files are written");
        }
        if self.recall != RecallSettings::default() {
            return rejected("recall".to_owned(), "decides where messages are sent");
        }
        if let Some(key) = self.agent.widening_key() {
            return rejected(format!("agent.{key}"), "decides what the agent may do");
        }
        if let Some(name) = self.mcp.keys().next() {
            return rejected(format!("mcp.{name}"), "starts or contacts a server");
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
            agent: self.agent.merge(newer.agent),
            mcp: self.mcp.into_iter().chain(newer.mcp).collect(),
            seeds: self.seeds.into_iter().chain(newer.seeds).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Settings {
        Settings::parse(text).unwrap()
    }

    #[test]
    fn model_settings_win_over_the_catalogue() {
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
