//! The user's own configuration. Parts of it may be in a granted directory under any name: hooks
//! for all repositories, or dotfiles that links in the home directory lead to.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{GIT, GIT_CONFIG, GIT_HOOKS, NAMES};

/// Maximum number of entries that are looked at in one directory of the user's configuration, and
/// how deep.
const MAX_ENTRIES: usize = 500;
const MAX_DEPTH: usize = 2;

/// Where the user's configuration is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UserFiles {
    home: Option<PathBuf>,
    config: Option<PathBuf>,
    /// The configuration files of git for all repositories.
    pub(super) git: Vec<PathBuf>,
}

impl UserFiles {
    /// Returns the files of a user. `variable` looks up an environment variable.
    pub(crate) fn new(variable: impl Fn(&str) -> Option<String>) -> Self {
        let path = |name: &str| {
            variable(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute())
        };
        let home = path("HOME");
        let config =
            path("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
        let own = home.as_ref().map(|home| home.join(".gitconfig"));
        let shared = config.as_ref().map(|config| config.join("git/config"));
        let system = Some(PathBuf::from("/etc/gitconfig"));
        let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].map(path);
        let git = [own, shared, system].into_iter().chain(named).flatten().collect();
        Self { home, config, git }
    }

    /// Returns the files of the user of this process.
    pub(crate) fn of_process() -> Self {
        Self::new(|name| std::env::var(name).ok())
    }

    /// Returns the real paths of the protected names in the home directory, and of the links in
    /// them.
    pub(super) fn real_paths(&self) -> Vec<(PathBuf, &'static str)> {
        let mut found = Vec::new();
        for name in NAMES.into_iter().filter(|name| !is_of_repository(name)) {
            let in_home = self.home.as_ref().map(|home| home.join(name));
            let in_config = name
                .strip_prefix(".config/")
                .and_then(|rest| Some(self.config.as_ref()?.join(rest)));
            for path in in_home.into_iter().chain(in_config) {
                if let Ok(real) = path.canonicalize() {
                    let mut left = MAX_ENTRIES;
                    add_links(&real, name, MAX_DEPTH, &mut left, &mut found);
                    found.push((real, name));
                }
            }
        }
        found
    }
}

/// Returns whether a name is of a repository, which the user's configuration is not.
fn is_of_repository(name: &str) -> bool {
    [GIT, GIT_CONFIG, GIT_HOOKS].contains(&name)
}

/// Adds what the links in a directory lead to.
fn add_links(
    directory: &Path,
    name: &'static str,
    depth: usize,
    left: &mut usize,
    found: &mut Vec<(PathBuf, &'static str)>,
) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let Some(less) = left.checked_sub(1) else { return };
        *left = less;
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_symlink() {
            found.extend(entry.path().canonicalize().ok().map(|real| (real, name)));
        } else if kind.is_dir() && depth > 1 {
            add_links(&entry.path(), name, depth - 1, left, found);
        }
    }
}
