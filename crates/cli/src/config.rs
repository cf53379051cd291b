//! Settings from files: the user's, then the project's, each key by itself. The environment and flags come after them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use waterline::message::Wire;
use waterline_sandbox::small_file;

use crate::environment::{self, variable};
use crate::lang::Lang;
use crate::trust;

mod agent;
pub mod origin;

pub use agent::{AgentSettings, Entry as MiddlewareEntry, McpConfig, Middlewares};

/// The project's file, in the folder where the program runs.
const PROJECT: &str = "waterline.toml";

/// What may be set in a file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The model that is asked.
    pub model: Option<String>,
    /// Where it answers.
    pub base_url: Option<String>,
    /// Models that are asked when it fails, in this order.
    pub fallback: Option<Vec<String>>,
    /// The model that writes summaries.
    pub summariser: Option<String>,
    /// The policy.
    pub policy: Option<String>,
    /// The folder of the day's memory files.
    pub memory: Option<PathBuf>,
    /// The language: `en` or `zh`.
    pub lang: Option<Lang>,
    /// What is particular about models.
    #[serde(default)]
    pub models: BTreeMap<String, ModelConfig>,
    /// What the agent may do.
    #[serde(default)]
    pub agent: AgentSettings,
    /// Servers that offer tools.
    #[serde(default)]
    pub mcp: BTreeMap<String, McpConfig>,
    /// The address comes from the project's file.
    #[serde(skip)]
    pub is_foreign: bool,
    /// It is the project's file.
    #[serde(skip)]
    is_project: bool,
    /// What of the project's file does not hold, and why: in English and in Chinese.
    #[serde(skip)]
    pub notices: Vec<(String, String)>,
}

/// What is particular about one model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Where it answers.
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
    /// What a million fresh prompt tokens cost.
    pub price: Option<f64>,
    /// Its policy.
    pub policy: Option<String>,
    /// Keys of the policy that are set otherwise for it: `"fold.high" = 90000`.
    #[serde(default)]
    pub set: BTreeMap<String, toml::Value>,
    /// Its address comes from a file that whoever made the folder may have written: no key is sent there unasked.
    #[serde(skip)]
    pub is_foreign: bool,
}

impl ModelConfig {
    /// These settings, as far as the newer ones do not say otherwise.
    fn under(mut self, newer: Self) -> Self {
        self.set.extend(newer.set);
        Self {
            is_foreign: if newer.base_url.is_some() { newer.is_foreign } else { self.is_foreign },
            base_url: newer.base_url.or(self.base_url),
            wire: newer.wire.or(self.wire),
            key_env: newer.key_env.or(self.key_env),
            key_file: newer.key_file.or(self.key_file),
            window: newer.window.or(self.window),
            price: newer.price.or(self.price),
            policy: newer.policy.or(self.policy),
            set: self.set,
        }
    }
}

fn wire<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Wire>, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse().map(Some).map_err(serde::de::Error::custom)
}

impl Config {
    /// What the files say.
    pub fn load() -> Result<Self> {
        let mut config = Self::default();
        for path in files() {
            let text = match text_of(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                text => text?,
            };
            let cannot = || format!("{} cannot be used", path.display());
            let newer: Self = toml::from_str(&text).with_context(cannot)?;
            newer.check().with_context(cannot)?;
            let newer = if path == Path::new(PROJECT) { newer.of_project()? } else { newer };
            config = config.under(newer.at(&path).with_context(cannot)?);
        }
        config.take_variables()?;
        Ok(config)
    }

    /// What variables say wins over the files.
    fn take_variables(&mut self) -> Result<()> {
        if let Some(policy) = variable("WATERLINE_POLICY") {
            self.policy = Some(policy);
        }
        if let Some(lang) = variable("WATERLINE_LANG") {
            let read = lang.trim().parse::<Lang>().map_err(anyhow::Error::msg);
            self.lang = Some(read.context("WATERLINE_LANG cannot be used")?);
        }
        if let Some(steps) = variable("AGENT_MAX_STEPS") {
            let read = steps.trim().parse().ok();
            let allowed = self.agent.clone();
            self.agent.steps = Some(read.with_context(|| format!("AGENT_MAX_STEPS is {steps:?}, which is no number"))?);
            self.agent.check()?;
            if environment::is_of_file("AGENT_MAX_STEPS") {
                self.notices.extend(self.agent.narrow(&allowed, environment::FILE));
            }
        }
        let trouble = environment::trouble().map(|why| (why.to_owned(), why.to_owned()));
        self.notices.extend(trouble);
        Ok(())
    }

    /// Values that no model can have are refused.
    fn check(&self) -> Result<()> {
        for (name, model) in &self.models {
            if model.window == Some(0) {
                bail!("models.{name}.window is 0; it must be a number of tokens from 1 on");
            }
            if let Some(price) = model.price.filter(|price| !price.is_finite() || *price < 0.0) {
                bail!("models.{name}.price is {price}; it must be a number from 0 on");
            }
        }
        self.agent.check()?;
        self.mcp.iter().try_for_each(|(name, server)| server.check(name))
    }

    /// Files and folders that a config names lie beside it, unless it says where.
    fn at(mut self, file: &Path) -> Result<Self> {
        let folder = file.parent().unwrap_or(Path::new(""));
        let agent = &mut self.agent;
        let folders = self.memory.iter_mut().chain(&mut agent.workspaces).chain(&mut agent.read_dirs);
        let granted = agent.allow_dirs.iter_mut().map(|grant| &mut grant.path);
        let keys = self.models.values_mut().filter_map(|model| model.key_file.as_mut());
        for path in folders.chain(granted).chain(keys) {
            *path = resolved(path, folder)?;
        }
        Ok(self)
    }

    /// What a project's file may say: it comes with a folder, perhaps from somebody else, so it may name addresses but no keys,
    /// and no key is sent to these addresses unless a flag says so.
    fn of_project(mut self) -> Result<Self> {
        for (name, model) in &mut self.models {
            if model.key_env.is_some() || model.key_file.is_some() {
                bail!("{PROJECT} names a key for {name}; keys belong into the config of the user or into flags");
            }
            model.is_foreign = model.base_url.is_some();
        }
        self.is_foreign = self.base_url.is_some();
        self.is_project = true;
        if self.memory.is_some() {
            bail!(
                "{PROJECT} sets memory, which says where files are written; that belongs into the config of the user"
            );
        }
        self.agent.of_project(PROJECT)?;
        if let Some(name) = self.mcp.keys().next() {
            bail!(
                "{PROJECT} names the server {name:?}, which would be started; servers belong into the config of the user"
            );
        }
        Ok(self)
    }

    /// What of a project's file holds beside what the user says: no more than that allows.
    fn within(mut self, user: &Self) -> Self {
        let mut notices = trust::leave_out_strangers(&mut self, user);
        notices.extend(self.agent.narrow(&user.agent, PROJECT));
        self.notices = notices;
        self
    }

    /// These settings, as far as the newer ones do not say otherwise.
    fn under(self, newer: Self) -> Self {
        let newer = if newer.is_project { newer.within(&self) } else { newer };
        let mut models = self.models;
        for (name, model) in newer.models {
            let older = models.remove(&name).unwrap_or_default();
            models.insert(name, older.under(model));
        }
        Self {
            is_foreign: if newer.base_url.is_some() { newer.is_foreign } else { self.is_foreign },
            model: newer.model.or(self.model),
            base_url: newer.base_url.or(self.base_url),
            fallback: newer.fallback.or(self.fallback),
            summariser: newer.summariser.or(self.summariser),
            policy: newer.policy.or(self.policy),
            memory: newer.memory.or(self.memory),
            lang: newer.lang.or(self.lang),
            models,
            agent: self.agent.under(newer.agent),
            mcp: self.mcp.into_iter().chain(newer.mcp).collect(),
            is_project: false,
            notices: self.notices.into_iter().chain(newer.notices).collect(),
        }
    }
}

/// The files, those that win last.
pub fn files() -> Vec<PathBuf> {
    let user = folder().map(|folder| folder.join("config.toml"));
    user.into_iter().chain([PathBuf::from(PROJECT)]).collect()
}

/// What stands in one of them. The project's came with a folder, perhaps from somebody else: a link does not lead out of that.
fn text_of(path: &Path) -> std::io::Result<String> {
    match path == Path::new(PROJECT) {
        true => small_file::read_inside(Path::new("."), path),
        false => small_file::read(path),
    }
}

/// The folder of the user's own config, skills and roles.
pub fn folder() -> Option<PathBuf> {
    let folder = named_by("XDG_CONFIG_HOME").or_else(|| named_by("HOME").map(|home| home.join(".config")));
    folder.map(|folder| folder.join("waterline"))
}

/// The folder that a variable names.
fn named_by(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A path as a file means it: `~/` is the home folder, and a relative one begins in the folder of the file.
fn resolved(path: &Path, folder: &Path) -> Result<PathBuf> {
    let Ok(rest) = path.strip_prefix("~") else { return Ok(folder.join(path)) };
    match named_by("HOME") {
        Some(home) => Ok(home.join(rest)),
        None => bail!("{} lies in the home folder, and none is known; write the whole path", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_wins_key_by_key() {
        let user: Config = toml::from_str("model = \"a\"\npolicy = \"chat\"\n[models.a]\nwindow = 1000").unwrap();
        let project: Config =
            toml::from_str("model = \"b\"\n[models.a]\nprice = 3.0\n[models.b]\nwire = \"anthropic\"").unwrap();
        let both = user.under(project);
        assert_eq!((both.model.as_deref(), both.policy.as_deref()), (Some("b"), Some("chat")));
        assert_eq!((both.models["a"].window, both.models["a"].price), (Some(1_000), Some(3.0)));
        assert_eq!((both.models["a"].window, both.models["b"].wire), (Some(1_000), Some(Wire::Anthropic)));
    }

    /// A folder from somebody else must not get at keys.
    #[test]
    fn a_project_names_no_keys() {
        let project = |text: &str| toml::from_str::<Config>(text).unwrap().of_project();
        for key in ["key_env = \"ANTHROPIC_API_KEY\"", "key_file = \"/home/me/.ssh/id\""] {
            let error =
                project(&format!("[models.a]\nbase_url = \"https://elsewhere\"\n{key}")).unwrap_err().to_string();
            assert!(error.contains("waterline.toml names a key for a"), "{error}");
        }
        let user: Config = toml::from_str("[models.a]\nkey_env = \"MY_KEY\"").unwrap();
        let both = user.under(project("[models.a]\nbase_url = \"https://elsewhere\"").unwrap());
        assert!(both.models["a"].is_foreign, "the user's key is not meant for the project's address");
        let error = project("memory = \"mem\"").unwrap_err().to_string();
        assert!(error.contains("waterline.toml sets memory") && error.contains("belongs into the config"), "{error}");
    }

    /// A folder from somebody else may ask for less than the user allows, or than is built in, and for no more.
    #[test]
    fn a_project_narrows_limits_and_does_not_raise_them() {
        let merged = |user: &str, project: &str| {
            let project = toml::from_str::<Config>(project).unwrap().of_project().unwrap();
            toml::from_str::<Config>(user).unwrap().under(project)
        };
        let raised = "[agent]\nsteps = 1000\ncommand_timeout = 600\niterations = 900\ntime = 900";
        let none = merged("", raised);
        let limits = |config: &Config| {
            let agent = &config.agent;
            (agent.steps, agent.command_timeout, agent.iterations, agent.time)
        };
        assert_eq!(limits(&none), (Some(15), Some(120), Some(900), Some(900)));
        assert!(none.notices[0].0.contains("agent.steps of waterline.toml is 1000"), "{:?}", none.notices);
        let some = merged("[agent]\nsteps = 40\ncommand_timeout = 60\niterations = 100\ntime = 60", raised);
        assert_eq!((limits(&some), some.notices.len()), ((Some(40), Some(60), Some(100), Some(60)), 4));
        let less = merged("[agent]\nsteps = 40", "[agent]\nsteps = 5");
        assert_eq!((less.agent.steps, less.notices.len()), (Some(5), 0));
        assert_eq!(merged("[agent]\nsteps = 40", "").agent.steps, Some(40));
    }

    /// Who a project names in the place of the user's models must not be a stranger.
    #[test]
    fn a_project_sends_nothing_to_models_that_only_it_knows() {
        let project = "fallback = [\"evil\", \"known\", \"gpt-5.6\", \"near\"]\nsummariser = \"evil\"\n\
                       [models.evil]\nbase_url = \"https://evil.example\"\n[models.near]\nbase_url = \"http://[::1]:8080\"";
        let project = toml::from_str::<Config>(project).unwrap().of_project().unwrap();
        let user = "summariser = \"known\"\n[models.known]\nbase_url = \"https://known.example\"";
        let both = toml::from_str::<Config>(user).unwrap().under(project);
        assert_eq!(both.fallback.unwrap(), ["known", "gpt-5.6", "near"]);
        assert_eq!(both.summariser.as_deref(), Some("known"));
        assert!(both.notices.len() == 2 && both.notices[0].0.contains("evil"), "{:?}", both.notices);
    }

    #[test]
    fn what_a_file_names_lies_beside_it_unless_it_says_where() {
        let text = "memory = \"notes\"\n[agent]\nworkspaces = \"/srv/ws\"\nread_dirs = [\"sdk\"]\n\
                    allow_dirs = [\"data:ro\"]\n[models.a]\nkey_file = \"a.key\"";
        let config = toml::from_str::<Config>(text).unwrap().at(Path::new("/etc/waterline/config.toml")).unwrap();
        assert_eq!(config.memory, Some(PathBuf::from("/etc/waterline/notes")));
        assert_eq!(config.agent.workspaces, Some(PathBuf::from("/srv/ws")));
        assert_eq!(config.agent.read_dirs, [PathBuf::from("/etc/waterline/sdk")]);
        let grant = &config.agent.allow_dirs[0];
        assert_eq!((grant.path.as_path(), grant.writable), (Path::new("/etc/waterline/data"), false));
        assert_eq!(config.models["a"].key_file, Some(PathBuf::from("/etc/waterline/a.key")));
    }

    #[test]
    fn an_unknown_key_is_refused_by_its_name() {
        let error = toml::from_str::<Config>("modle = \"a\"").unwrap_err().to_string();
        assert!(error.contains("modle"), "{error}");
        assert!(toml::from_str::<Config>("[models.a]\nwire = \"telegraph\"").is_err());
    }
}
