//! Where the agent works: in the directory that the program was started in, or in a private
//! workspace. The home directory, its parents and `/` are used only if the user names them.

use std::path::{Path, PathBuf};

use waterline_agent::WorkingDirectory;
use waterline_sandbox::workspace::Grant;

use crate::config::Config;
use crate::consent;
use crate::error::ConfigError;
use crate::overrides::Overrides;
use crate::workspace_choice::WorkspaceChoice;

/// Where the agent works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkDir {
    /// In a private workspace.
    Private,
    /// In a directory of the user.
    Directory(WorkingDirectory),
    /// The user has not decided yet whether the agent works in this directory.
    Undecided(WorkingDirectory),
}

/// Decides where the agent works: as the caller or the config says; otherwise in the git work tree
/// that contains the current directory, or in the current directory if the user agreed to that.
///
/// # Errors
/// When a directory that the caller names cannot be used.
pub fn find(config: &Config, overrides: &Overrides) -> Result<WorkDir, ConfigError> {
    let home = config.environment.home();
    let finder = Finder { config, overrides, home: home.and_then(|home| home.canonicalize().ok()) };
    let current = config.environment.directory();
    match &overrides.workspace {
        Some(WorkspaceChoice::Private) => Ok(WorkDir::Private),
        Some(WorkspaceChoice::Here) => finder.named(current),
        Some(WorkspaceChoice::Directory(path)) => finder.named(path),
        None => Ok(finder.usual(current)),
    }
}

/// Finds the directory that the agent works in.
struct Finder<'a> {
    config: &'a Config,
    overrides: &'a Overrides,
    home: Option<PathBuf>,
}

impl Finder<'_> {
    /// Returns a directory that the caller names.
    fn named(&self, directory: &Path) -> Result<WorkDir, ConfigError> {
        let failed = |source| ConfigError::Directory { path: directory.to_owned(), source };
        let path = directory.canonicalize().map_err(failed)?;
        if !path.is_dir() {
            return Err(failed(std::io::ErrorKind::NotADirectory.into()));
        }
        Ok(WorkDir::Directory(self.working(&path)))
    }

    /// Returns the place if the caller names none.
    fn usual(&self, current: &Path) -> WorkDir {
        let configured = self.config.settings.agent.workspace.as_ref();
        let Ok(path) = current.canonicalize() else { return WorkDir::Private };
        if configured == Some(&WorkspaceChoice::Private) || self.is_shared(&path) {
            return WorkDir::Private;
        }
        let working = self.working(&path);
        if configured.is_some() || self.work_tree(&path).is_some() {
            return WorkDir::Directory(working);
        }
        match consent::of(&self.config.environment, &path).works {
            Some(true) => WorkDir::Directory(working),
            Some(false) => WorkDir::Private,
            None => WorkDir::Undecided(working),
        }
    }

    /// Returns a working directory. The work tree that contains it is granted, else the directory
    /// itself.
    fn working(&self, path: &Path) -> WorkingDirectory {
        let root = self.work_tree(path).unwrap_or_else(|| path.to_owned());
        let writable = !self.is_read_only(&root);
        WorkingDirectory { path: path.to_owned(), grant: Grant::new(root, writable) }
    }

    /// Returns whether a directory holds more than one project: `/`, the home directory or a
    /// parent of it.
    fn is_shared(&self, path: &Path) -> bool {
        path.parent().is_none() || self.home.as_ref().is_some_and(|home| home.starts_with(path))
    }

    /// Returns whether the caller or the config grants a directory for reading only.
    fn is_read_only(&self, root: &Path) -> bool {
        let configured = &self.config.settings.agent.allow_dirs;
        configured.iter().chain(&self.overrides.allow_dirs).any(|grant| {
            !grant.writable && grant.path.canonicalize().is_ok_and(|path| root.starts_with(path))
        })
    }

    /// Returns the root of the git work tree that contains a directory.
    fn work_tree(&self, directory: &Path) -> Option<PathBuf> {
        let root = directory.ancestors().find(|path| path.join(".git").exists());
        root.filter(|root| !self.is_shared(root)).map(Path::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::environment::Environment;

    /// A home directory with a project in a git work tree and a plain directory.
    fn home() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap().join("home");
        for path in ["tide/.git", "tide/src", "notes"] {
            std::fs::create_dir_all(home.join(path)).unwrap();
        }
        (temp, home)
    }

    fn config(home: &Path, directory: &Path) -> Config {
        Config::empty(Arc::new(Environment::new(directory, [("HOME", home)])))
    }

    fn chosen(choice: Option<WorkspaceChoice>) -> Overrides {
        Overrides { workspace: choice, ..Overrides::default() }
    }

    fn place(home: &Path, directory: &Path, choice: Option<WorkspaceChoice>) -> WorkDir {
        find(&config(home, directory), &chosen(choice)).unwrap()
    }

    fn working(path: &Path, root: &Path) -> WorkingDirectory {
        let grant = Grant::new(root, true);
        WorkingDirectory { path: path.to_owned(), grant }
    }

    #[test]
    fn a_git_work_tree_is_used_and_another_directory_needs_consent() {
        let (_temp, home) = home();
        let tide = home.join("tide");
        let notes = home.join("notes");
        let src = tide.join("src");
        assert_eq!(place(&home, &src, None), WorkDir::Directory(working(&src, &tide)));
        assert_eq!(place(&home, &notes, None), WorkDir::Undecided(working(&notes, &notes)));
        let environment = config(&home, &notes).environment;
        consent::store(&environment, &notes, |consent| consent.works = Some(false)).unwrap();
        assert_eq!(place(&home, &notes, None), WorkDir::Private);
        consent::store(&environment, &notes, |consent| consent.works = Some(true)).unwrap();
        assert_eq!(place(&home, &notes, None), WorkDir::Directory(working(&notes, &notes)));
        assert_eq!(place(&home, &src, Some(WorkspaceChoice::Private)), WorkDir::Private);
    }

    #[test]
    fn the_home_directory_must_be_named() {
        let (_temp, home) = home();
        std::fs::create_dir(home.join(".git")).unwrap();
        let notes = home.join("notes");
        for directory in [home.as_path(), home.parent().unwrap(), Path::new("/")] {
            assert_eq!(place(&home, directory, None), WorkDir::Private, "{}", directory.display());
        }
        // A work tree that is the home directory is not a project.
        assert_eq!(place(&home, &notes, None), WorkDir::Undecided(working(&notes, &notes)));
        let here = Some(WorkspaceChoice::Here);
        assert_eq!(place(&home, &home, here.clone()), WorkDir::Directory(working(&home, &home)));
        let mut general = config(&home, &home);
        general.settings.agent.workspace = here;
        assert_eq!(find(&general, &Overrides::default()).unwrap(), WorkDir::Private);
        general.environment = config(&home, &notes).environment;
        let found = find(&general, &Overrides::default()).unwrap();
        assert_eq!(found, WorkDir::Directory(working(&notes, &notes)));
        let missing = WorkspaceChoice::Directory(home.join("nowhere"));
        let error = find(&config(&home, &home), &chosen(Some(missing))).unwrap_err().to_string();
        assert!(error.contains("nowhere"), "{error}");
    }

    #[test]
    fn a_read_only_grant_of_the_project_holds() {
        let (_temp, home) = home();
        let tide = home.join("tide");
        let grant = Grant::new(&tide, false);
        let overrides = Overrides { allow_dirs: vec![grant.clone()], ..Overrides::default() };
        let expected = WorkingDirectory { path: tide.clone(), grant };
        let found = find(&config(&home, &tide), &overrides).unwrap();
        assert_eq!(found, WorkDir::Directory(expected));
    }
}
