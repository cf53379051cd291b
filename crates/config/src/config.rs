//! [`Config`] merges the user's file, the project's file and the environment, once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use waterline::Models;
use waterline::phrase;
use waterline::phrase::Phrase;
use waterline_agent::ModelPolicy;
use waterline_sandbox::small_file;

use crate::environment::{self, Environment};
use crate::error::ConfigError;
use crate::notice::Notice;
use crate::origin::{Origins, Value};
use crate::prices::Prices;
use crate::seed::SEEDS;
use crate::settings::{PROJECT, Settings};
use crate::tokenizer::Tokenizer;

/// The name of the user's config file, in the user's config directory.
const USER_FILE: &str = "config.toml";

/// The name of the user's config file as JSON, which is read without a TOML file.
const USER_JSON: &str = "config.json";

/// The merged settings and their origins.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The value of each setting, from the place that wins.
    pub settings: Settings,
    /// Settings that do not take effect as written.
    pub notices: Vec<Notice>,
    /// The variables and the working directory they were read from.
    pub environment: Arc<Environment>,
    /// The policy that the user prefers.
    pub(crate) preferred: ModelPolicy,
    /// The model that the session or its user prefers.
    pub(crate) preferred_model: Option<String>,
    /// Policies that the user chose.
    pub(crate) own_policies: BTreeSet<String>,
    /// Policies that the project's files name.
    pub(crate) project_policies: BTreeSet<String>,
    pub(crate) origins: Origins,
    pub(crate) prices: Prices,
}

impl Config {
    /// Returns a config with only the built-in values.
    #[must_use]
    pub fn empty(environment: Arc<Environment>) -> Self {
        Self {
            settings: Settings::default(),
            notices: Vec::new(),
            environment,
            preferred: ModelPolicy::default(),
            preferred_model: None,
            own_policies: BTreeSet::new(),
            project_policies: BTreeSet::new(),
            origins: Origins::built_in(),
            prices: Prices::built_in(),
        }
    }

    /// Returns the model catalog with the models that the settings describe, counted as they say.
    #[must_use]
    pub fn catalog(&self) -> Models {
        let entries = self.settings.models.iter().map(|(name, own)| own.entry(name));
        self.known_models().with(entries)
    }

    /// Returns the built-in catalog, counted as the settings say for all models.
    pub(crate) fn known_models(&self) -> Models {
        match self.settings.tokenizer {
            Some(tokenizer) => Models::builtin().counted_by(|model| tokenizer.of(model)),
            None => Models::builtin(),
        }
    }

    /// Returns the name of the model that the settings choose. Without one, it depends on keys and
    /// servers.
    #[must_use]
    pub fn model_name(&self) -> Option<String> {
        let variable = self.environment.variable("WATERLINE_MODEL");
        variable.or_else(|| self.preferred_model.clone()).or_else(|| self.settings.model.clone())
    }

    /// Reads the user's file, the project's file and the environment variables.
    ///
    /// # Errors
    /// When a file or a variable cannot be used.
    pub fn load(environment: Arc<Environment>) -> Result<Self, ConfigError> {
        let mut config = Self::empty(environment);
        for path in files(&config.environment) {
            let text = match read(&path, &config.environment) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                text => text?,
            };
            let added = as_toml(text, &path).and_then(|text| config.add_file(&text, &path));
            added.map_err(|error| error.in_file(&path))?;
        }
        config.add_variables()?;
        config.prices = Prices::load(&config.environment)?;
        Ok(config)
    }

    /// Records that the user chose a policy, by a flag for example. It may be any of the user's
    /// files, and errors quote it.
    #[must_use]
    pub fn with_own_policy(mut self, name: Option<&str>) -> Self {
        self.own_policies.extend(name.map(str::to_owned));
        self
    }

    /// Returns every value with its origin, sorted by key. Secrets are hidden.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        self.origins.values()
    }

    /// Merges the settings of a file over those so far.
    fn add_file(&mut self, text: &str, path: &Path) -> Result<(), ConfigError> {
        let mut newer = Settings::parse(text)?;
        let mut notices = Vec::new();
        if *path == self.environment.at(PROJECT) {
            newer = newer.into_project()?;
            notices.extend(newer.remove_untrusted_models(&self.settings));
            notices.extend(newer.agent.narrow(&self.settings.agent, PROJECT));
        }
        self.origins.add_file(text, path, &notices)?;
        self.notices.extend(notices);
        let names = match *path == self.environment.at(PROJECT) {
            true => &mut self.project_policies,
            false => &mut self.own_policies,
        };
        names.extend(newer.policies().map(str::to_owned));
        let newer = newer.resolve_paths(path, self.environment.home().as_deref())?;
        self.settings = std::mem::take(&mut self.settings).merge(newer);
        Ok(())
    }

    /// Merges the settings of environment variables over those so far.
    fn add_variables(&mut self) -> Result<(), ConfigError> {
        let environment = Arc::clone(&self.environment);
        let mut notices = Vec::new();
        if let Some(policy) = environment.variable("WATERLINE_POLICY") {
            let names = match environment.is_of_file("WATERLINE_POLICY") {
                true => &mut self.project_policies,
                false => &mut self.own_policies,
            };
            names.insert(policy.clone());
            self.settings.policy = Some(policy);
        }
        let invalid = |name: &str, value: &str, why: Phrase| ConfigError::Variable {
            name: name.to_owned(),
            value: format!("{value:?}"),
            why,
        };
        if let Some(lang) = environment.variable(environment::LANG_VARIABLE) {
            let why = || {
                phrase!(
                    "variable-lang",
                    "unsupported language {name:?}; expected en or zh",
                    name = lang.trim()
                )
            };
            let parsed = environment.lang();
            self.settings.lang =
                Some(parsed.ok_or_else(|| invalid(environment::LANG_VARIABLE, &lang, why()))?);
        }
        if let Some(method) = environment.variable("TOKEN_CALCULATION_METHOD") {
            let parsed = method.trim().parse::<Tokenizer>();
            let invalid = |why| invalid("TOKEN_CALCULATION_METHOD", &method, why);
            self.settings.tokenizer = Some(parsed.map_err(invalid)?);
        }
        // A blank variable is a mistake here, not the same as an unset one.
        let seeds = SEEDS.iter().filter_map(|seed| {
            Some((seed.variable, environment.variable_or_blank(seed.variable)?))
        });
        self.settings.seeds.extend(seeds);
        if let Some(steps) = environment.variable("AGENT_MAX_STEPS") {
            let parsed = steps.trim().parse().map_err(|_| {
                invalid(
                    "AGENT_MAX_STEPS",
                    &steps,
                    phrase!("variable-whole", "expected a whole number"),
                )
            });
            let allowed = self.settings.agent.clone();
            self.settings.agent.steps = Some(parsed?);
            self.settings.agent.check()?;
            if environment.is_of_file("AGENT_MAX_STEPS") {
                notices = self.settings.agent.narrow(&allowed, environment::FILE);
            }
        }
        self.origins.add_variables(&environment, &notices);
        self.notices.append(&mut notices);
        self.notices.extend(environment.file_error().map(Notice::EnvFile));
        Ok(())
    }
}

/// Returns the config files in the order they are read; a later one wins.
#[must_use]
pub fn files(environment: &Environment) -> Vec<PathBuf> {
    let user = environment.user_directory().map(|directory| {
        let own = directory.join(USER_FILE);
        let json = directory.join(USER_JSON);
        if !own.is_file() && json.is_file() { json } else { own }
    });
    user.into_iter().chain([environment.at(PROJECT)]).collect()
}

/// Returns the text of a file as TOML.
fn as_toml(text: String, path: &Path) -> Result<String, ConfigError> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return Ok(text);
    }
    let table: toml::Table = serde_json::from_str(&text)?;
    Ok(toml::to_string(&table)?)
}

/// Reads a config file. The project's file may come from someone else, so no link in its path may
/// lead out of the project.
pub(crate) fn read(path: &Path, environment: &Environment) -> std::io::Result<String> {
    match *path == environment.at(PROJECT) {
        true => small_file::read_inside(environment.directory(), Path::new(PROJECT)),
        false => small_file::read(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads a user's file and a project's file.
    fn loaded(user: &str, project: &str) -> Config {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().join("home");
        let directory = temp.path().join("project");
        std::fs::create_dir_all(home.join(".config/waterline")).unwrap();
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(home.join(".config/waterline/config.toml"), user).unwrap();
        std::fs::write(directory.join(PROJECT), project).unwrap();
        Config::load(Arc::new(Environment::new(directory, [("HOME", home)]))).unwrap()
    }

    /// A project, perhaps from someone else, may lower the user's or the built-in limits but not
    /// raise them.
    #[test]
    fn project_lowers_limits_but_cannot_raise_them() {
        let raised = "[agent]\nsteps = 1000\ncommand_timeout = 600\niterations = 900\ntime = 900";
        let none = loaded("", raised);
        let limits = |config: &Config| {
            let agent = &config.settings.agent;
            (agent.steps, agent.command_timeout, agent.iterations, agent.time)
        };
        assert_eq!(limits(&none), (Some(200), Some(120), Some(900), Some(900)));
        assert!(
            none.notices[0].to_string().contains("waterline.toml sets agent.steps = 1000"),
            "{:?}",
            none.notices
        );
        let some = loaded(
            "[agent]\nsteps = 40\ncommand_timeout = 60\niterations = 100\ntime = 60",
            raised,
        );
        assert_eq!(
            (limits(&some), some.notices.len()),
            ((Some(40), Some(60), Some(100), Some(60)), 4)
        );
        let less = loaded("[agent]\nsteps = 40", "[agent]\nsteps = 5");
        assert_eq!((less.settings.agent.steps, less.notices.len()), (Some(5), 0));
        assert_eq!(loaded("[agent]\nsteps = 40", "").settings.agent.steps, Some(40));
    }

    /// When a project may not raise a limit, the origin is that of the limit in force.
    #[test]
    fn every_value_has_its_origin() {
        let config = loaded(
            "[agent]\nsteps = 20\ntime = 60",
            "policy = \"window\"\n[agent]\nsteps = 25\ntime = 30",
        );
        let values = config.values();
        let origin = |key: &str| {
            let value = values.iter().find(|value| value.key == key).unwrap();
            (value.value.as_str(), value.origin.rsplit('/').next().unwrap())
        };
        assert_eq!(origin("agent.steps"), ("20", "config.toml"));
        assert_eq!(origin("agent.time"), ("30", "waterline.toml"));
        assert_eq!(origin("policy"), ("\"window\"", "waterline.toml"));
        assert_eq!(origin("agent.approval"), ("\"selective\"", "built in"));
    }

    /// A project may only choose fallback and summary models that the user knows.
    #[test]
    fn project_cannot_choose_models_that_only_it_defines() {
        let project = "fallback = [\"evil\", \"known\", \"gpt-5.6\", \"near\"]\n\
                       summariser = \"evil\"\n\
                       [models.evil]\nbase_url = \"https://evil.example\"\n\
                       [models.near]\nbase_url = \"http://[::1]:8080\"";
        let user = "summariser = \"known\"\n[models.known]\nbase_url = \"https://known.example\"";
        let both = loaded(user, project);
        assert_eq!(both.settings.fallback.unwrap(), ["known", "gpt-5.6", "near"]);
        assert_eq!(both.settings.summariser.as_deref(), Some("known"));
        assert!(
            both.notices.len() == 2 && both.notices[0].to_string().contains("evil"),
            "{:?}",
            both.notices
        );
    }

    #[test]
    fn error_names_the_invalid_file_and_the_reason() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join(PROJECT), "[agent]\nnetwork = true").unwrap();
        let none: [(&str, &str); 0] = [];
        let error = Config::load(Arc::new(Environment::new(temp.path(), none))).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("invalid config file ") && text.ends_with("waterline.toml"));
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(
            why.contains("agent.network") && why.contains("belongs in your user config"),
            "{why}"
        );
    }
}
