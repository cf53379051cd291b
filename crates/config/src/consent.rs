//! What the user decided about directories: whether the agent works there, and whether it may
//! change files there without a question. The decisions are stored in the data directory, never in
//! the directory that they are about.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use waterline_sandbox::small_file;

use crate::environment::Environment;
use crate::error::ConfigError;
use crate::trust::write_private;

/// The file in the data directory that stores the decisions.
const FILE: &str = "directories.json";

/// The decisions about one directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Consent {
    /// Whether the agent works there; `None` if the user was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub works: Option<bool>,
    /// Whether the agent may change files there without a question.
    pub changes: bool,
}

/// The decisions, by directory.
type Decisions = BTreeMap<String, Consent>;

/// Returns the decisions about a directory.
#[must_use]
pub fn of(environment: &Environment, directory: &Path) -> Consent {
    let all = read(environment);
    directory.to_str().and_then(|directory| all.get(directory)).copied().unwrap_or_default()
}

/// Returns the directories in which the agent may change files without a question.
#[must_use]
pub fn changeable(environment: &Environment) -> Vec<PathBuf> {
    let all = read(environment).into_iter().filter(|(_, consent)| consent.changes);
    all.map(|(directory, _)| PathBuf::from(directory)).collect()
}

/// Stores a decision about a directory. Does nothing without a data directory, or if the
/// directory's name is not UTF-8: it could be mistaken for another.
///
/// # Errors
/// When the file cannot be written.
pub fn store(
    environment: &Environment,
    directory: &Path,
    decide: impl FnOnce(&mut Consent),
) -> Result<(), ConfigError> {
    let (Ok(data), Some(directory)) = (environment.data_directory(), directory.to_str()) else {
        return Ok(());
    };
    let mut all = read(environment);
    decide(all.entry(directory.to_owned()).or_default());
    let file = data.join(FILE);
    write_private(&file, &all).map_err(|source| ConfigError::Approvals { path: file, source })
}

/// Reads the decisions. A file that cannot be read decides nothing.
fn read(environment: &Environment) -> Decisions {
    let file = environment.data_directory().ok().map(|directory| directory.join(FILE));
    let text = file.and_then(|file| small_file::read(&file).ok());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_stored_by_directory() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::new("/srv/tide", [("HOME", home.path())]);
        let tide = Path::new("/srv/tide");
        assert_eq!(of(&environment, tide), Consent::default());
        store(&environment, tide, |consent| consent.works = Some(true)).unwrap();
        store(&environment, tide, |consent| consent.changes = true).unwrap();
        store(&environment, Path::new("/srv/other"), |consent| consent.works = Some(false))
            .unwrap();
        assert_eq!(of(&environment, tide), Consent { works: Some(true), changes: true });
        assert_eq!(of(&environment, Path::new("/srv/other")).works, Some(false));
        assert_eq!(changeable(&environment), [tide]);
    }
}
