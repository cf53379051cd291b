//! The variables and the working directory that settings are read from: the process's variables as
//! the host program gives them, and those of a `.env` file in the working directory. The process
//! wins. The file may come with a directory that someone else wrote, so only variables that cannot
//! send a key elsewhere are taken from it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use waterline_sandbox::small_file;

use crate::error::ConfigError;
use crate::lang::Lang;
use crate::seed::{ALIASES, SEEDS};

/// The file of variables in the working directory.
pub(crate) const FILE: &str = ".env";

/// The variables of the providers' keys.
pub(crate) const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
pub(crate) const OPENAI_KEY: &str = "OPENAI_API_KEY";
pub(crate) const GEMINI_KEY: &str = "GEMINI_API_KEY";

/// The variable of the key for an address of the user's own.
pub(crate) const OWN_KEY: &str = "WATERLINE_API_KEY";

/// The variables of the providers' keys, in the order in which a provider is chosen.
pub const PROVIDER_KEYS: [&str; 3] = [ANTHROPIC_KEY, OPENAI_KEY, GEMINI_KEY];

/// Every variable that holds a key.
pub const KEY_VARIABLES: [&str; 4] = [ANTHROPIC_KEY, OPENAI_KEY, GEMINI_KEY, OWN_KEY];

/// Variables that name the locale.
const LOCALE: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// What is taken from the file in addition to the providers' keys and the settings of the seeds.
const TAKEN: [&str; 3] = ["WATERLINE_MODEL", "WATERLINE_POLICY", "WATERLINE_LANG"];

/// Where a variable was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableOrigin {
    /// In the process.
    Process,
    /// In the `.env` file.
    File,
}

/// Variables and working directory.
#[derive(Clone)]
pub struct Environment {
    directory: PathBuf,
    process: BTreeMap<OsString, OsString>,
    file: Result<BTreeMap<String, String>, String>,
}

impl Environment {
    /// The variables of a process that works in `directory`, and those of the `.env` file there.
    pub fn new(
        directory: impl Into<PathBuf>,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Self {
        let directory = directory.into();
        let process =
            variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let file = read_file(&directory);
        Self { directory, process, file }
    }

    /// The working directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A variable that is set to something.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        self.find(name).map(|(value, _)| value)
    }

    /// A variable that is set to something, and where it was found.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(String, VariableOrigin)> {
        let process = self.of_process(name).map(|value| (value, VariableOrigin::Process));
        let file = || Some((self.file.as_ref().ok()?.get(name)?.clone(), VariableOrigin::File));
        process.or_else(file).filter(|(value, _)| !value.trim().is_empty())
    }

    /// A variable even if it is set to nothing: for settings where that is a mistake.
    pub(crate) fn even_if_empty(&self, name: &str) -> Option<String> {
        self.process
            .get(OsStr::new(name))
            .and_then(|value| value.to_str())
            .map(str::to_owned)
            .or_else(|| self.variable(name))
    }

    /// The process's own variable, if it is set to something.
    pub(crate) fn of_process(&self, name: &str) -> Option<String> {
        let value = self.process.get(OsStr::new(name))?.to_str()?;
        Some(value.to_owned()).filter(|value| !value.trim().is_empty())
    }

    /// Whether the file, and not the process, sets a variable.
    #[must_use]
    pub fn is_of_file(&self, name: &str) -> bool {
        matches!(self.find(name), Some((_, VariableOrigin::File)))
    }

    /// Why the file is there and is not read.
    pub(crate) fn file_error(&self) -> Option<&str> {
        self.file.as_ref().err().map(String::as_str)
    }

    /// The path of the file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.at(FILE)
    }

    /// The language of the locale, and the variable that names it.
    #[must_use]
    pub fn locale(&self) -> Option<(Lang, &'static str)> {
        LOCALE.iter().find_map(|name| Some((Lang::of_locale(&self.variable(name)?), *name)))
    }

    /// The home directory.
    #[must_use]
    pub fn home(&self) -> Option<PathBuf> {
        self.path("HOME")
    }

    /// The directory of the user's own config, skills and roles.
    #[must_use]
    pub fn user_directory(&self) -> Option<PathBuf> {
        let directory = self.path("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config")));
        directory.map(|directory| directory.join("waterline"))
    }

    /// The directory of the program's data: the log, the workspaces, what was approved.
    ///
    /// # Errors
    /// When no home directory is known.
    pub fn data_directory(&self) -> Result<PathBuf, ConfigError> {
        let directory = self
            .path("XDG_DATA_HOME")
            .or_else(|| Some(self.home()?.join(".local").join("share")))
            .or_else(|| self.path("LOCALAPPDATA"));
        directory.map(|directory| directory.join("waterline")).ok_or(ConfigError::NoDataDirectory)
    }

    /// The path of a file in the working directory, short where that is `.`.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        if self.directory == Path::new(".") {
            PathBuf::from(name)
        } else {
            self.directory.join(name)
        }
    }

    /// The directory that a variable names.
    fn path(&self, name: &str) -> Option<PathBuf> {
        self.process.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
    }
}

/// Values may be keys: only names are shown.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&OsString> = self.process.keys().collect();
        f.debug_struct("Environment")
            .field("directory", &self.directory)
            .field("process", &names)
            .finish_non_exhaustive()
    }
}

fn read_file(directory: &Path) -> Result<BTreeMap<String, String>, String> {
    match small_file::read_inside(directory, Path::new(FILE)) {
        Ok(text) => Ok(parse(&text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        // Some projects have a directory of that name, which is about something else.
        Err(_) if directory.join(FILE).is_dir() => Ok(BTreeMap::new()),
        Err(error) => Err(error.to_string()),
    }
}

/// The lines `NAME=value`, with or without `export` and quotes. Variables that are not taken are
/// skipped.
fn parse(text: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let line = line.trim().strip_prefix("export ").unwrap_or(line.trim());
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
        let value = value.trim();
        let quoted = ['"', '\'']
            .into_iter()
            .find_map(|mark| value.strip_prefix(mark)?.split_once(mark).map(|(inner, _)| inner));
        // A comment may follow a value that is not quoted.
        let value = quoted.unwrap_or_else(|| value.split(" #").next().unwrap_or_default().trim());
        let name = name.trim();
        is_taken(name).then(|| (name.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name)
        || PROVIDER_KEYS.contains(&name)
        || SEEDS.iter().any(|seed| seed.variable == name)
        || ALIASES.iter().any(|(variable, ..)| *variable == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S0.29: the seeds' settings from a file.
    #[test]
    fn s0_29_the_file_is_read_and_gives_nothing_that_leads_keys_elsewhere() {
        let text = "# settings\nMAX_MESSAGE_HISTORY=60 # more\nexport OPENAI_API_KEY='sk-1'\nWATERLINE_BASE_URL=http://evil\nPATH=/evil\nnonsense";
        let read = parse(text);
        assert_eq!(read.get("MAX_MESSAGE_HISTORY").map(String::as_str), Some("60"));
        assert_eq!(read.get("OPENAI_API_KEY").map(String::as_str), Some("sk-1"));
        assert_eq!(read.len(), 2);
    }

    #[test]
    fn the_process_wins_over_the_file_and_values_are_not_printed() {
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
