//! [`Config`]: what the user's file, the project's file and the environment set, merged once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use waterline_sandbox::small_file;

use crate::environment::{self, Environment};
use crate::error::ConfigError;
use crate::lang::Lang;
use crate::notice::Notice;
use crate::origin::{Origins, Value};
use crate::seed::SEEDS;
use crate::settings::{PROJECT, Settings};
use crate::tokenizer::Tokenizer;

/// The user's file, in the directory of the user's config.
const USER: &str = "config.toml";

/// The user's file as JSON, which is read if there is no TOML.
const USER_JSON: &str = "config.json";

/// The merged settings, and where they were read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The merged settings.
    pub settings: Settings,
    /// What does not take effect as written.
    pub notices: Vec<Notice>,
    /// The variables and the working directory that they were read from.
    pub environment: Arc<Environment>,
    origins: Origins,
}

impl Config {
    /// No settings at all, in an environment.
    #[must_use]
    pub fn empty(environment: Arc<Environment>) -> Self {
        Self {
            settings: Settings::default(),
            notices: Vec::new(),
            environment,
            origins: Origins::built_in(),
        }
    }

    /// Reads the user's file, the project's file and the variables.
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
        Ok(config)
    }

    /// Every value that is set, with its origin, by key. Secrets are not shown.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        self.origins.values()
    }

    /// Puts the settings of a file on top.
    fn add_file(&mut self, text: &str, path: &Path) -> Result<(), ConfigError> {
        let mut newer = Settings::parse(text)?;
        let mut notices = Vec::new();
        if *path == self.environment.at(PROJECT) {
            newer = newer.into_project()?;
            notices.extend(newer.leave_out_untrusted(&self.settings));
            notices.extend(newer.agent.narrow(&self.settings.agent, PROJECT));
        }
        self.origins.add_file(text, path, &notices)?;
        self.notices.extend(notices);
        let newer = newer.resolve_paths(path, self.environment.home().as_deref())?;
        self.settings = std::mem::take(&mut self.settings).merge(newer);
        Ok(())
    }

    /// Puts the settings of variables on top.
    fn add_variables(&mut self) -> Result<(), ConfigError> {
        let environment = Arc::clone(&self.environment);
        let mut notices = Vec::new();
        if let Some(policy) = environment.variable("WATERLINE_POLICY") {
            self.settings.policy = Some(policy);
        }
        let refused = |name: &str, value: &str, why: String| ConfigError::Variable {
            name: name.to_owned(),
            value: format!("{value:?}"),
            why,
        };
        if let Some(lang) = environment.variable("WATERLINE_LANG") {
            let read = lang.trim().parse::<Lang>();
            self.settings.lang = Some(read.map_err(|why| refused("WATERLINE_LANG", &lang, why))?);
        }
        if let Some(method) = environment.variable("TOKEN_CALCULATION_METHOD") {
            let read = method.trim().parse::<Tokenizer>();
            let refused = |why| refused("TOKEN_CALCULATION_METHOD", &method, why);
            self.settings.tokenizer = Some(read.map_err(refused)?);
        }
        // A variable that is set to nothing is a mistake here, and not the same as none.
        let seeds = SEEDS
            .iter()
            .filter_map(|seed| Some((seed.variable, environment.even_if_empty(seed.variable)?)));
        self.settings.seeds.extend(seeds);
        if let Some(steps) = environment.variable("AGENT_MAX_STEPS") {
            let read = steps
                .trim()
                .parse()
                .map_err(|_| refused("AGENT_MAX_STEPS", &steps, "it is not a number".into()));
            let allowed = self.settings.agent.clone();
            self.settings.agent.steps = Some(read?);
            self.settings.agent.check()?;
            if environment.is_of_file("AGENT_MAX_STEPS") {
                notices = self.settings.agent.narrow(&allowed, environment::FILE);
            }
        }
        self.origins.add_variables(&environment, &notices);
        self.notices.append(&mut notices);
        self.notices.extend(environment.file_error().map(|why| Notice::EnvFile(why.to_owned())));
        Ok(())
    }
}

/// The files that settings are read from; those that win last.
#[must_use]
pub fn files(environment: &Environment) -> Vec<PathBuf> {
    let user = environment.user_directory().map(|directory| {
        let (own, json) = (directory.join(USER), directory.join(USER_JSON));
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

/// The text of one of them. The project's came with a directory, perhaps from someone else: no link
/// leads out of it.
pub(crate) fn read(path: &Path, environment: &Environment) -> std::io::Result<String> {
    match *path == environment.at(PROJECT) {
        true => small_file::read_inside(environment.directory(), Path::new(PROJECT)),
        false => small_file::read(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A home with the user's file, and a project with its own.
    fn loaded(user: &str, project: &str) -> Config {
        let place = tempfile::tempdir().unwrap();
        let (home, directory) = (place.path().join("home"), place.path().join("project"));
        std::fs::create_dir_all(home.join(".config/waterline")).unwrap();
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(home.join(".config/waterline/config.toml"), user).unwrap();
        std::fs::write(directory.join(PROJECT), project).unwrap();
        Config::load(Arc::new(Environment::new(directory, [("HOME", home)]))).unwrap()
    }

    /// A directory from someone else may ask for less than the user allows, or than is built in,
    /// and for no more.
    #[test]
    fn a_project_narrows_limits_and_does_not_raise_them() {
        let raised = "[agent]\nsteps = 1000\ncommand_timeout = 600\niterations = 900\ntime = 900";
        let none = loaded("", raised);
        let limits = |config: &Config| {
            let agent = &config.settings.agent;
            (agent.steps, agent.command_timeout, agent.iterations, agent.time)
        };
        assert_eq!(limits(&none), (Some(15), Some(120), Some(900), Some(900)));
        assert!(
            none.notices[0].to_string().contains("agent.steps of waterline.toml is 1000"),
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

    /// The origin of a limit that a project may not raise is where the limit comes from that holds.
    #[test]
    fn each_value_knows_where_it_comes_from() {
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

    /// Models that a project names in the place of the user's must be known to the user.
    #[test]
    fn a_project_sends_nothing_to_models_that_only_it_knows() {
        let project = "fallback = [\"evil\", \"known\", \"gpt-5.6\", \"near\"]\nsummariser = \"evil\"\n\
                       [models.evil]\nbase_url = \"https://evil.example\"\n[models.near]\nbase_url = \"http://[::1]:8080\"";
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
    fn a_file_that_cannot_be_used_is_named_with_the_reason() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join(PROJECT), "[agent]\nnetwork = true").unwrap();
        let none: [(&str, &str); 0] = [];
        let error = Config::load(Arc::new(Environment::new(place.path(), none))).unwrap_err();
        assert!(error.to_string().ends_with("waterline.toml cannot be used"), "{error}");
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(
            why.contains("agent.network") && why.contains("belongs in the user's config"),
            "{why}"
        );
    }
}
