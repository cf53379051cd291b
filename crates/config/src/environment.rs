//! The variables and the working directory that settings are read from: the process's variables, as
//! the host program passes them, and those of a `.env` file in the working directory. The process
//! wins. The `.env` file may have been written by someone else, so only variables that cannot send
//! a key elsewhere are read from it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use waterline_agent::Cause;
use waterline_provider::wire;
use waterline_sandbox::small_file;

use crate::error::ConfigError;
use crate::lang::Lang;
use crate::seed::{ALIASES, SEEDS};

/// The name of the file with variables in the working directory.
pub(crate) const FILE: &str = ".env";

/// The variable that holds the key for a custom `base_url`.
pub const OWN_KEY: &str = "WATERLINE_API_KEY";

/// Returns the variables that hold the providers' keys, in the order in which a provider is chosen.
#[must_use]
pub fn provider_keys() -> Vec<&'static str> {
    wire::vendors().iter().map(|vendor| vendor.key_variable).collect()
}

/// Returns every variable that holds a key.
#[must_use]
pub fn key_variables() -> Vec<&'static str> {
    provider_keys().into_iter().chain([OWN_KEY]).collect()
}

/// The variable that names the language.
pub(crate) const LANG_VARIABLE: &str = "WATERLINE_LANG";

/// Variables that name the locale.
const LOCALE: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// The variables that may be set in the `.env` file in addition to the providers' keys and the
/// settings of the seeds.
const ALLOWED_IN_FILE: [&str; 3] = ["WATERLINE_MODEL", "WATERLINE_POLICY", LANG_VARIABLE];

/// Where a variable was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VariableOrigin {
    /// In the process's environment.
    Process,
    /// In the `.env` file.
    File,
}

/// Environment variables and the working directory.
#[derive(Clone)]
pub struct Environment {
    directory: PathBuf,
    process: BTreeMap<OsString, OsString>,
    file: Result<BTreeMap<String, String>, Cause>,
}

impl Environment {
    /// Combines the variables of a process that works in `directory` with the `.env` file there.
    pub fn new(
        directory: impl Into<PathBuf>,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Self {
        let directory = directory.into();
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let process = with_seed_names(variables, |name: &OsString| name.to_str());
        let file = read_file(&directory);
        Self { directory, process, file }
    }

    /// Returns the working directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns a variable that is set and not blank.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        self.find(name).map(|(value, _)| value)
    }

    /// Returns a variable that is set and not blank, with its origin.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(String, VariableOrigin)> {
        let process = self.of_process(name).map(|value| (value, VariableOrigin::Process));
        let file = || Some((self.file.as_ref().ok()?.get(name)?.clone(), VariableOrigin::File));
        process.or_else(file).filter(|(value, _)| !value.trim().is_empty())
    }

    /// Returns a variable even if it is blank, for settings where a blank value is a mistake.
    pub(crate) fn variable_or_blank(&self, name: &str) -> Option<String> {
        self.process
            .get(OsStr::new(name))
            .and_then(|value| value.to_str())
            .map(str::to_owned)
            .or_else(|| self.variable(name))
    }

    /// Returns a variable of the process that is set and not blank.
    pub(crate) fn of_process(&self, name: &str) -> Option<String> {
        let value = self.process.get(OsStr::new(name))?.to_str()?;
        Some(value.to_owned()).filter(|value| !value.trim().is_empty())
    }

    /// Returns whether a variable comes from the `.env` file.
    #[must_use]
    pub fn is_of_file(&self, name: &str) -> bool {
        matches!(self.find(name), Some((_, VariableOrigin::File)))
    }

    /// Returns why an existing `.env` file could not be read.
    pub(crate) fn file_error(&self) -> Option<Cause> {
        self.file.as_ref().err().cloned()
    }

    /// Returns the path of the `.env` file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.at(FILE)
    }

    /// Returns the language that `WATERLINE_LANG` chooses, if it is valid.
    #[must_use]
    pub fn lang(&self) -> Option<Lang> {
        self.variable(LANG_VARIABLE)?.trim().parse().ok()
    }

    /// Returns the language of the locale, and the variable that sets it.
    #[must_use]
    pub fn locale(&self) -> Option<(Lang, &'static str)> {
        LOCALE.iter().find_map(|name| Some((Lang::of_locale(&self.variable(name)?), *name)))
    }

    /// Returns the home directory.
    #[must_use]
    pub fn home(&self) -> Option<PathBuf> {
        self.path("HOME")
    }

    /// Returns the directory of the user's config, skills and roles.
    #[must_use]
    pub fn user_directory(&self) -> Option<PathBuf> {
        let directory = self.path("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config")));
        directory.map(|directory| directory.join("waterline"))
    }

    /// Returns the directory of the program's data: the log, the workspaces, the approvals.
    ///
    /// # Errors
    /// When neither a data directory nor a home directory is set.
    pub fn data_directory(&self) -> Result<PathBuf, ConfigError> {
        let directory = self
            .path("XDG_DATA_HOME")
            .or_else(|| Some(self.home()?.join(".local").join("share")))
            .or_else(|| self.path("LOCALAPPDATA"));
        directory.map(|directory| directory.join("waterline")).ok_or(ConfigError::NoDataDirectory)
    }

    /// Returns the path of a file in the working directory, without a leading `./`.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        if self.directory == Path::new(".") {
            PathBuf::from(name)
        } else {
            self.directory.join(name)
        }
    }

    /// Returns the path that a variable of the process holds.
    fn path(&self, name: &str) -> Option<PathBuf> {
        self.process.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
    }
}

/// Shows only names, because values may be keys.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&OsString> = self.process.keys().collect();
        f.debug_struct("Environment")
            .field("directory", &self.directory)
            .field("process", &names)
            .finish_non_exhaustive()
    }
}

fn read_file(directory: &Path) -> Result<BTreeMap<String, String>, Cause> {
    match small_file::read_inside(directory, Path::new(FILE)) {
        Ok(text) => Ok(parse(&text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        // Some projects have a directory called `.env`, usually a Python environment.
        Err(_) if directory.join(FILE).is_dir() => Ok(BTreeMap::new()),
        Err(error) => Err(error.into()),
    }
}

/// Parses lines of the form `NAME=value`, with or without `export` and quotes. Variables that are
/// not allowed in the file are skipped.
fn parse(text: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let line = line.trim().strip_prefix("export ").unwrap_or(line.trim());
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
        let value = value.trim();
        let quoted = ['"', '\'']
            .into_iter()
            .find_map(|quote| value.strip_prefix(quote)?.split_once(quote).map(|(inner, _)| inner));
        // A comment may follow an unquoted value.
        let value = quoted.unwrap_or_else(|| value.split(" #").next().unwrap_or_default().trim());
        let name = name.trim();
        is_allowed_in_file(name).then(|| (name.to_owned(), value.to_owned()))
    };
    with_seed_names(text.lines().filter_map(line), |name: &String| Some(name.as_str()))
}

/// Collects variables. The agents that presets reproduce read the names of their settings in any
/// case; a name in upper case wins over the others.
fn with_seed_names<N: Ord + From<&'static str>, V>(
    variables: impl IntoIterator<Item = (N, V)>,
    text: impl Fn(&N) -> Option<&str>,
) -> BTreeMap<N, V> {
    let mut all = BTreeMap::new();
    let mut others = Vec::new();
    for (name, value) in variables {
        match text(&name).and_then(seed_variable) {
            Some(variable) if text(&name) != Some(variable) => others.push((variable, value)),
            _ => {
                all.insert(name, value);
            }
        }
    }
    for (variable, value) in others {
        all.entry(N::from(variable)).or_insert(value);
    }
    all
}

/// Returns the variable of the seeds with this name, in any case.
fn seed_variable(name: &str) -> Option<&'static str> {
    let aliases = ALIASES.iter().map(|(variable, ..)| *variable);
    let mut variables = SEEDS.iter().map(|seed| seed.variable).chain(aliases);
    variables.find(|variable| variable.eq_ignore_ascii_case(name))
}

fn is_allowed_in_file(name: &str) -> bool {
    ALLOWED_IN_FILE.contains(&name)
        || provider_keys().contains(&name)
        || seed_variable(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S0.29: settings of the original agents are read from a `.env` file.
    #[test]
    fn s0_29_env_file_cannot_redirect_keys() {
        let text = concat!(
            "# settings\nMAX_MESSAGE_HISTORY=60 # more\nexport OPENAI_API_KEY='sk-1'\n",
            "WATERLINE_BASE_URL=http://evil\nPATH=/evil\nnonsense",
        );
        let variables = parse(text);
        assert_eq!(variables.get("MAX_MESSAGE_HISTORY").map(String::as_str), Some("60"));
        assert_eq!(variables.get("OPENAI_API_KEY").map(String::as_str), Some("sk-1"));
        assert_eq!(variables.len(), 2);
    }

    /// S2.1, S3.2: the original agents read their settings in any case.
    #[test]
    fn settings_of_the_seeds_are_read_in_any_case() {
        let directory = tempfile::tempdir().unwrap();
        let text = "target_usage_ratio=0.5\nMin_Messages=3\nMIN_MESSAGES=4\nopenai_api_key=no\n";
        std::fs::write(directory.path().join(FILE), text).unwrap();
        let variables = [("agent_max_context_tokens", "80000"), ("waterline_model", "no")];
        let environment = Environment::new(directory.path(), variables);
        let found = |name| environment.variable(name);
        assert_eq!(found("AGENT_MAX_CONTEXT_TOKENS").as_deref(), Some("80000"));
        assert_eq!(found("TARGET_USAGE_RATIO").as_deref(), Some("0.5"));
        assert_eq!(found("MIN_MESSAGES").as_deref(), Some("4"), "upper case wins");
        assert_eq!((found("WATERLINE_MODEL"), found("OPENAI_API_KEY")), (None, None));
    }

    #[test]
    fn process_wins_over_env_file_and_values_are_not_printed() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(
            directory.path().join(FILE),
            "OPENAI_API_KEY=sk-file\nWATERLINE_MODEL=of-file\n",
        )
        .unwrap();
        let environment = Environment::new(
            directory.path(),
            [("WATERLINE_MODEL", "of-process"), ("GEMINI_API_KEY", " ")],
        );
        let model = environment.find("WATERLINE_MODEL");
        assert_eq!(model, Some(("of-process".to_owned(), VariableOrigin::Process)));
        assert!(
            environment.is_of_file("OPENAI_API_KEY")
                && environment.find("GEMINI_API_KEY").is_none()
        );
        assert!(
            !format!("{environment:?}").contains("sk-file")
                && !format!("{environment:?}").contains("of-process")
        );
    }
}
