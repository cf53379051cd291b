//! What files may set, and how two of them are merged: each key by itself, the later file wins. A
//! project's file comes with a directory, perhaps from someone else: it may not widen what the user
//! allows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use waterline::message::Wire;
use waterline::model::ModelEntry;
use waterline::tokens::Method;
use waterline_provider::address::is_local;

use crate::agent::{AgentSettings, McpSettings};
use crate::error::ConfigError;
use crate::lang::Lang;
use crate::notice::Notice;

/// The project's file, in the working directory.
pub(crate) const PROJECT: &str = "waterline.toml";

/// What files and variables set.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The model that answers.
    pub model: Option<String>,
    /// The address of its server.
    pub base_url: Option<String>,
    /// Models that answer when it fails, in this order.
    pub fallback: Option<Vec<String>>,
    /// The model that writes summaries.
    pub summariser: Option<String>,
    /// The policy.
    pub policy: Option<String>,
    /// The directory of the day's memory files, or `false` for no memory.
    pub memory: Option<Memory>,
    /// The language: `en` or `zh`.
    pub lang: Option<Lang>,
    /// Settings of single models.
    #[serde(default)]
    pub models: BTreeMap<String, ModelSettings>,
    /// What the agent may do.
    #[serde(default)]
    pub agent: AgentSettings,
    /// MCP servers.
    #[serde(default)]
    pub mcp: BTreeMap<String, McpSettings>,
    /// Whether `base_url` comes from the project's file: no key is sent there unless the user says
    /// so.
    #[serde(skip)]
    pub is_untrusted: bool,
}

/// Settings of one model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// The address of its server.
    pub base_url: Option<String>,
    /// The wire it speaks.
    #[serde(default, deserialize_with = "wire")]
    pub wire: Option<Wire>,
    /// The variable that holds its key.
    pub key_env: Option<String>,
    /// The file that holds its key.
    pub key_file: Option<PathBuf>,
    /// Tokens a prompt may take.
    pub window: Option<usize>,
    /// Tokens kept free for the answer.
    pub output: Option<usize>,
    /// Characters per token, where tokens are estimated.
    pub chars_per_token: Option<f64>,
    /// Whether it accepts images.
    pub images: Option<bool>,
    /// Tokens that one image takes.
    pub image_tokens: Option<usize>,
    /// Price of a prompt token read from the cache, as a share of a fresh one.
    pub cache_read: Option<f64>,
    /// Price of a prompt token written to the cache, as a share of a fresh one.
    pub cache_write: Option<f64>,
    /// Prompts shorter than this are not cached.
    pub cache_minimum: Option<usize>,
    /// Seconds for which a cached prompt is kept.
    pub cache_life: Option<u64>,
    /// How its tokens are counted: `o200k`, `cl100k` or `estimate`.
    pub tokenizer: Option<Method>,
    /// The price of a million fresh prompt tokens.
    pub price: Option<f64>,
    /// Its policy.
    pub policy: Option<String>,
    /// Keys of the policy that are set differently for it: `"fold.high" = 90000`.
    #[serde(default)]
    pub set: BTreeMap<String, toml::Value>,
    /// Whether its address comes from the project's file: no key is sent there unless the user says
    /// so.
    #[serde(skip)]
    pub is_untrusted: bool,
}

impl ModelSettings {
    /// These settings, overridden by newer ones.
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
            tokenizer: newer.tokenizer.or(self.tokenizer),
            price: newer.price.or(self.price),
            policy: newer.policy.or(self.policy),
            set: self.set,
        }
    }

    /// What the settings say about the model itself, as an entry of the catalogue.
    pub(crate) fn entry(&self, name: &str) -> ModelEntry {
        let mut entry = ModelEntry::new(name);
        entry.tokenizer = self.tokenizer;
        entry.output = self.output;
        entry.chars_per_token = self.chars_per_token;
        entry.images = self.images;
        entry.image_tokens = self.image_tokens;
        entry.cache_read = self.cache_read;
        entry.cache_write = self.cache_write;
        entry.cache_minimum = self.cache_minimum;
        entry.cache_life = self.cache_life;
        entry
    }

    /// Refuses values that no model can have.
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        if self.window == Some(0) {
            return Err(ConfigError::range(
                format!("models.{name}.window"),
                0,
                "a number of tokens from 1 on",
            ));
        }
        let numbers = [
            ("price", self.price),
            ("chars_per_token", self.chars_per_token),
            ("cache_read", self.cache_read),
            ("cache_write", self.cache_write),
        ];
        let is_wrong = |number: &f64| !number.is_finite() || *number < 0.0;
        for (key, number) in numbers {
            if let Some(wrong) = number.filter(is_wrong) {
                return Err(ConfigError::range(
                    format!("models.{name}.{key}"),
                    wrong,
                    "a number from 0 on",
                ));
            }
        }
        Ok(())
    }
}

fn wire<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Wire>, D::Error> {
    let name = String::deserialize(deserializer)?;
    waterline_provider::wire::named(&name).map(Some).map_err(serde::de::Error::custom)
}

/// Where the day's memory files are.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Memory {
    /// In this directory.
    Directory(PathBuf),
    /// In the usual directory, or nowhere.
    On(bool),
}

impl Memory {
    const fn directory_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Self::Directory(path) => Some(path),
            Self::On(_) => None,
        }
    }
}

impl Settings {
    /// Reads the text of a file; an unknown key or a value out of range is refused.
    ///
    /// # Errors
    /// When it is not TOML, or a key or a value is not allowed.
    pub(crate) fn parse(text: &str) -> Result<Self, ConfigError> {
        let settings: Self = toml::from_str(text)?;
        settings.models.iter().try_for_each(|(name, model)| model.check(name))?;
        settings.agent.check()?;
        settings.mcp.iter().try_for_each(|(name, server)| server.check(name))?;
        Ok(settings)
    }

    /// Makes the paths that a file names absolute: a relative one begins in the file's directory,
    /// `~/` is the home.
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

    /// Refuses what a project's file may not set, and marks its addresses: it may name addresses
    /// but no keys, and no key is sent to these addresses unless the user says so.
    pub(crate) fn into_project(mut self) -> Result<Self, ConfigError> {
        let refused = |key: String, why| Err(ConfigError::Project { file: PROJECT, key, why });
        for (name, model) in &mut self.models {
            let key = match (&model.key_env, &model.key_file) {
                (Some(_), _) => Some("key_env"),
                (None, Some(_)) => Some("key_file"),
                (None, None) => None,
            };
            if let Some(key) = key {
                return refused(format!("models.{name}.{key}"), "names a key");
            }
            model.is_untrusted = model.base_url.is_some();
        }
        self.is_untrusted = self.base_url.is_some();
        if self.memory.is_some() {
            return refused("memory".to_owned(), "says where files are written");
        }
        if let Some(key) = self.agent.widening_key() {
            return refused(format!("agent.{key}"), "says what the agent may do");
        }
        if let Some(name) = self.mcp.keys().next() {
            return refused(format!("mcp.{name}"), "starts or calls a server");
        }
        Ok(self)
    }

    /// Removes models from a project's `fallback` and `summariser` that only its own file says how
    /// to reach: the user did not choose them. A server on this machine is the user's own. Returns
    /// what was left out.
    pub(crate) fn leave_out_untrusted(&mut self, user: &Self) -> Vec<Notice> {
        let models = &self.models;
        let is_untrusted = |name: &str| {
            let address = models.get(name).and_then(|model| model.base_url.as_deref());
            address.is_some_and(|address| !is_local(address)) && !user.models.contains_key(name)
        };
        let mut notices = Vec::new();
        let mut keeps = |key: &'static str, name: &str| {
            let keeps = !is_untrusted(name);
            if !keeps {
                notices.push(Notice::UntrustedModel { key, model: name.to_owned() });
            }
            keeps
        };
        if let Some(names) = &mut self.fallback {
            names.retain(|name| keeps("fallback", name));
        }
        self.summariser = self.summariser.take().filter(|name| keeps("summariser", name));
        // A list of which nothing is left does not replace the user's.
        self.fallback = self.fallback.take().filter(|names| !names.is_empty());
        notices
    }

    /// These settings, overridden by newer ones.
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
            lang: newer.lang.or(self.lang),
            models,
            agent: self.agent.merge(newer.agent),
            mcp: self.mcp.into_iter().chain(newer.mcp).collect(),
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
    fn what_is_said_about_a_model_wins_over_the_catalogue() {
        let text = "[models.gpt-4o]\noutput = 2000\nimages = false\n[models.mine]\ntokenizer = \"o200k\"\nimages = true";
        let settings = parsed(text);
        let models = waterline::Models::builtin()
            .with(settings.models.iter().map(|(name, own)| own.entry(name)));
        let known = models.resolve("gpt-4o");
        assert_eq!((known.window, known.output, known.images), (128_000, 2_000, false));
        let own = models.resolve("mine");
        assert!(own.images && own.counter().method() == Method::O200k);
        let error =
            Settings::parse("[models.a]\ntokenizer = \"tiktoken\"").unwrap_err().to_string();
        assert!(error.contains("o200k"), "{error}");
        let error = Settings::parse("[models.a]\ncache_read = -1.0").unwrap_err().to_string();
        assert!(error.contains("models.a.cache_read"), "{error}");
    }

    #[test]
    fn the_project_wins_key_by_key() {
        let user = parsed("model = \"a\"\npolicy = \"chat\"\n[models.a]\nwindow = 1000");
        let project =
            parsed("model = \"b\"\n[models.a]\nprice = 3.0\n[models.b]\nwire = \"anthropic\"");
        let both = user.merge(project);
        assert_eq!((both.model.as_deref(), both.policy.as_deref()), (Some("b"), Some("chat")));
        assert_eq!((both.models["a"].window, both.models["a"].price), (Some(1_000), Some(3.0)));
        assert_eq!(
            (both.models["a"].window, both.models["b"].wire),
            (Some(1_000), Some(Wire::ANTHROPIC))
        );
    }

    /// A directory from someone else must not get at keys.
    #[test]
    fn a_project_names_no_keys() {
        let project = |text: &str| parsed(text).into_project();
        for (key, value) in [("key_env", "ANTHROPIC_API_KEY"), ("key_file", "/home/me/.ssh/id")] {
            let text = format!("[models.a]\nbase_url = \"https://elsewhere\"\n{key} = \"{value}\"");
            let error = project(&text).unwrap_err().to_string();
            assert!(
                error.contains(&format!("waterline.toml sets models.a.{key}, which names a key")),
                "{error}"
            );
        }
        let user = parsed("[models.a]\nkey_env = \"MY_KEY\"");
        let both = user.merge(project("[models.a]\nbase_url = \"https://elsewhere\"").unwrap());
        assert!(
            both.models["a"].is_untrusted,
            "the user's key is not meant for the project's address"
        );
        let error = project("memory = \"mem\"").unwrap_err().to_string();
        assert!(
            error.contains("waterline.toml sets memory") && error.contains("the user's config"),
            "{error}"
        );
    }

    #[test]
    fn what_a_file_names_lies_beside_it_unless_it_says_where() {
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
    fn an_unknown_key_is_refused_by_its_name() {
        let error = Settings::parse("modle = \"a\"").unwrap_err().to_string();
        assert!(error.contains("modle"), "{error}");
        assert!(Settings::parse("[models.a]\nwire = \"telegraph\"").is_err());
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_its_range() {
        for (text, words) in [
            (
                "[models.a]\nwindow = 0",
                "models.a.window is 0; it must be a number of tokens from 1 on",
            ),
            ("[models.a]\nprice = -1.5", "models.a.price is -1.5; it must be a number from 0 on"),
            (
                "[agent]\nsteps = 1001",
                "agent.steps is 1001; it must be a whole number from 1 to 1000",
            ),
        ] {
            assert_eq!(Settings::parse(text).unwrap_err().to_string(), words);
        }
    }
}
