//! Asks the user's own git who makes commits. Commands have another home directory, so git finds
//! no identity there.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::protected::UserFiles;

/// How long to wait for git.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The variables of the user that decide which configuration git reads.
const VARIABLES: [&str; 4] = ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];

/// The variables that name the author and the committer, each with the settings it is taken from,
/// the first that is set.
const IDENTITY: [(&str, [&str; 2]); 4] = [
    ("GIT_AUTHOR_NAME", ["author.name", "user.name"]),
    ("GIT_AUTHOR_EMAIL", ["author.email", "user.email"]),
    ("GIT_COMMITTER_NAME", ["committer.name", "user.name"]),
    ("GIT_COMMITTER_EMAIL", ["committer.email", "user.email"]),
];

/// The settings of [`IDENTITY`], as git matches them.
const SETTINGS: &str = r"^(user|author|committer)\.(name|email)$";

/// The user's git, which runs outside the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserGit {
    path: String,
    variables: Vec<(String, String)>,
    /// The identity that the user's environment names.
    identity: Vec<(String, String)>,
}

impl UserGit {
    /// Returns the git of a user. `variable` looks up an environment variable.
    #[must_use]
    pub fn new(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).map(|value| (name.to_owned(), value));
        Self {
            path: variable("PATH").unwrap_or_default(),
            variables: VARIABLES.into_iter().filter_map(set).collect(),
            identity: IDENTITY.into_iter().filter_map(|(name, _)| set(name)).collect(),
        }
    }

    /// Returns where the user's configuration is.
    pub(crate) fn files(&self) -> UserFiles {
        UserFiles::new(|name| {
            self.variables.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone())
        })
    }

    /// Returns the variables that give a commit in `directory` the author and the committer that it
    /// would have outside the sandbox. `writable` are the directories that commands may change: a
    /// git in one of them is not run. Empty if git knows no identity or does not answer in time.
    pub async fn identity(&self, directory: &Path, writable: &[PathBuf]) -> Vec<(String, String)> {
        let mut identity = self.configured(directory, writable).await.unwrap_or_default();
        identity.extend(self.identity.iter().cloned());
        identity
    }

    /// Returns the identity of git's configuration.
    async fn configured(
        &self,
        directory: &Path,
        writable: &[PathBuf],
    ) -> Option<Vec<(String, String)>> {
        let program = self.program(directory, writable)?;
        let mut command = Command::new(program);
        command
            .args(["--no-pager", "config", "--null", "--get-regexp", SETTINGS])
            .current_dir(directory)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let output = tokio::time::timeout(TIMEOUT, command.output()).await.ok()?.ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let settings: Vec<(&str, &str)> =
            text.split('\0').filter_map(|setting| setting.split_once('\n')).collect();
        // Of several values, the last one counts.
        let value = |key: &&str| {
            settings.iter().rev().find(|(known, _)| known == key).map(|(_, value)| *value)
        };
        let variables = IDENTITY.into_iter().filter_map(|(name, keys)| {
            Some((name.to_owned(), keys.iter().find_map(value)?.to_owned()))
        });
        Some(variables.collect())
    }

    /// Returns the first git of `PATH` that no command can have put there.
    fn program(&self, directory: &Path, writable: &[PathBuf]) -> Option<PathBuf> {
        let is_safe = |path: &PathBuf| {
            !path.starts_with(directory) && !writable.iter().any(|root| path.starts_with(root))
        };
        std::env::split_paths(&self.path)
            // A relative entry depends on the directory.
            .filter(|entry| entry.is_absolute())
            .filter_map(|entry| entry.canonicalize().ok().filter(&is_safe))
            .filter_map(|entry| entry.join("git").canonicalize().ok())
            .find(|program| program.is_file() && is_safe(program))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A directory with a program `git` that prints a configuration.
    fn with_git(directory: &Path, name: &str) {
        std::fs::create_dir_all(directory).unwrap();
        let text = format!(
            "#!/bin/sh\nprintf 'user.name\\n{name}\\0user.email\\n{name}@example.org\\0'\n"
        );
        std::fs::write(directory.join("git"), text).unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.join("git"), mode).unwrap();
    }

    fn name_of(path: &str, project: &Path, writable: &[PathBuf]) -> Option<String> {
        let git = UserGit::new(|name| (name == "PATH").then(|| path.to_owned()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let identity = runtime.block_on(git.identity(project, writable));
        identity.into_iter().find(|(name, _)| name == "GIT_AUTHOR_NAME").map(|(_, value)| value)
    }

    /// Such a git could have been put there by a command, and would run outside the sandbox.
    #[test]
    fn a_git_that_a_command_can_replace_is_not_run() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let project = top.join("project");
        for (directory, name) in [("project/bin", "inside"), ("ws/bin", "ws"), ("own", "own")] {
            with_git(&top.join(directory), name);
        }
        std::os::unix::fs::symlink(project.join("bin"), top.join("linked")).unwrap();
        let writable = [top.join("ws")];
        let entries = ["bin", "TOP/project/bin", "TOP/linked", "TOP/ws/bin"];
        let path = entries.join(":").replace("TOP", &top.display().to_string());
        assert_eq!(name_of(&path, &project, &writable), None);
        let path = format!("{path}:{}", top.join("own").display());
        assert_eq!(name_of(&path, &project, &writable).as_deref(), Some("own"));
    }

    #[test]
    fn the_environment_wins_over_the_configuration() {
        let git = UserGit::new(|name| match name {
            "GIT_AUTHOR_NAME" => Some("Ann".to_owned()),
            _ => None,
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let identity = runtime.block_on(git.identity(Path::new("/"), &[]));
        assert_eq!(identity, [("GIT_AUTHOR_NAME".to_owned(), "Ann".to_owned())]);
    }
}
