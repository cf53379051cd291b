//! Protected paths: files and directories inside a granted directory that other programs run or
//! read automatically, such as git hooks and shell profiles. A command that changes one of them
//! could run code later, outside the sandbox. They stay read-only unless the user allows one by
//! name.
//!
//! The kernel enforces that with read-only mounts where it allows a mount namespace; elsewhere the
//! supervisor restores the files after the command. Nothing can prevent a command from creating a
//! protected path that does not exist yet, so new ones are renamed after the command.

#[cfg(target_os = "linux")]
mod check;
#[cfg(target_os = "linux")]
mod find;
#[cfg(target_os = "linux")]
mod git;
#[cfg(target_os = "linux")]
mod put_back;
#[cfg(target_os = "linux")]
mod set_aside;
#[cfg(target_os = "linux")]
mod snapshot;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux confines commands"))]
mod user;
#[cfg(target_os = "linux")]
mod watch;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub(crate) use check::{Checked, Guard};
#[cfg(target_os = "linux")]
pub(crate) use set_aside::set_aside;
pub(crate) use user::UserFiles;
#[cfg(target_os = "linux")]
pub(crate) use watch::Watch;

/// Outside Linux no path is protected, so there is nothing to watch.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(crate) struct Watch;

/// The name of git directories, files that link to one, and bare repositories.
pub const GIT: &str = ".git";

/// The name of the configuration inside a git directory. It stays read-only if only [`GIT`] is
/// unprotected.
pub const GIT_CONFIG: &str = ".git/config";

/// The name of the hooks inside a git directory. They stay read-only if only [`GIT`] is
/// unprotected.
pub const GIT_HOOKS: &str = ".git/hooks";

/// The names of all protected paths. A path is protected if its last parts are one of these names,
/// at any depth of a granted directory; so is everything below it. `*` stands for any start of the
/// last part.
pub const NAMES: [&str; 121] = [
    GIT,
    GIT_CONFIG,
    GIT_HOOKS,
    ".gitconfig",
    ".hg",
    ".jj",
    ".sl",
    ".husky",
    ".githooks",
    "lefthook.yml",
    "lefthook-local.yml",
    ".lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yaml",
    "lefthook.toml",
    ".overcommit.yml",
    ".git-hooks",
    "prek.toml",
    ".huskyrc",
    ".lintstagedrc",
    ".pre-commit-config.yaml",
    ".vscode",
    ".idea",
    ".zed",
    ".helix",
    ".devcontainer.json",
    ".dir-locals-2.el",
    ".lazy.lua",
    ".gvimrc",
    ".lvimrc",
    "*.code-workspace",
    "*.sublime-project",
    ".devcontainer",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    "opencode.json",
    ".opencode",
    ".aider.conf.yml",
    ".crush.json",
    ".windsurf",
    ".kiro",
    ".roo",
    ".amazonq",
    ".qwen",
    ".github/hooks",
    ".mcp.json",
    ".envrc",
    ".ssh",
    ".waterline",
    "waterline.toml",
    ".config/waterline",
    ".config/git",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".cargo/config",
    ".cargo/config.toml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "bunfig.toml",
    ".pypirc",
    "pip.conf",
    ".config/pip",
    "mise.toml",
    ".mise.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".tool-versions",
    "mise.local.toml",
    ".mise",
    ".config/mise",
    ".profile",
    ".login",
    ".inputrc",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".vim",
    ".config/nvim",
    ".emacs",
    ".emacs.d",
    ".dir-locals.el",
    ".gdbinit",
    ".lldbinit",
    ".irbrc",
    ".pryrc",
    ".pdbrc",
    ".Rprofile",
    ".ghci",
    ".iex.exs",
    ".ocamlinit",
    ".Renviron",
    ".RData",
    ".octaverc",
    ".perldb",
    ".tmux.conf",
    ".xinitrc",
    ".xprofile",
    ".xsessionrc",
    ".xsession",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".bash_completion",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".pam_environment",
    ".forward",
];

/// Returns the name under which a path is protected, if it is. The path counts as it is written:
/// links are not followed.
#[must_use]
pub fn name_of(path: &Path) -> Option<&'static str> {
    path.ancestors().find_map(|ancestor| {
        let name = ancestor.file_name()?.to_str()?;
        let parent = ancestor.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        entry_name(parent, name)
    })
}

/// Returns the name under which an absolute path inside one of the granted directories is
/// protected, if it is. Unlike [`name_of`], it also recognizes git directories with any name,
/// including one that the path would complete, and paths to which a link, a git configuration in
/// the directories above, or the user's configuration leads.
#[must_use]
pub fn name_at(granted: &[PathBuf], path: &Path) -> Option<&'static str> {
    name_of(path).or_else(|| found_name(granted, path))
}

#[cfg(target_os = "linux")]
fn found_name(granted: &[PathBuf], path: &Path) -> Option<&'static str> {
    let rules = crate::Rules {
        write: granted.to_vec(),
        guarded: granted.to_vec(),
        ..crate::Rules::default()
    };
    let rules = rules.without_nested();
    let found = find::find_above(&rules, &UserFiles::of_process(), path);
    let found = path.ancestors().find_map(|ancestor| found.items.get(ancestor));
    found.map(|item| item.name).or_else(|| completes_git_directory(&rules, path).then_some(GIT))
}

/// Returns whether creating a path would make git treat a directory above it as a git directory.
#[cfg(target_os = "linux")]
fn completes_git_directory(rules: &crate::Rules, path: &Path) -> bool {
    path.ancestors().any(|entry| {
        let (Some(directory), Some(name)) = (entry.parent(), entry.file_name()) else {
            return false;
        };
        rules.guarded.iter().any(|root| directory.starts_with(root))
            && git::is_completed_by(directory, name)
    })
}

#[cfg(not(target_os = "linux"))]
const fn found_name(_: &[PathBuf], _: &Path) -> Option<&'static str> {
    None
}

/// Returns the git directory of a work tree, if it is outside the work tree and belongs to it: that
/// of the repository for a linked worktree, its own for a submodule. The git directory must name
/// the work tree, because a `.git` file in a project can name any directory.
#[cfg(target_os = "linux")]
#[must_use]
pub fn git_directory_outside(work_tree: &Path) -> Option<PathBuf> {
    git::directory_outside(work_tree)
}

/// Returns `None`: outside Linux no directory must be allowed.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub const fn git_directory_outside(_: &Path) -> Option<PathBuf> {
    None
}

/// Returns the name under which a directory entry is protected. Case does not matter, because some
/// file systems ignore it.
fn entry_name(parent: Option<&str>, name: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|protected| match protected.strip_prefix('*') {
        Some(ending) => ends_with(name, ending).is_some(),
        // Most names differ at their ends, so comparing those first is fastest.
        None => match ends_with(protected, name) {
            Some("") => true,
            Some(directory) => {
                let directory = directory.strip_suffix('/');
                directory.zip(parent).is_some_and(|(own, parent)| own.eq_ignore_ascii_case(parent))
            }
            None => false,
        },
    })
}

/// Returns the part of a text before an ending, if the text has that ending.
fn ends_with<'a>(text: &'a str, ending: &str) -> Option<&'a str> {
    let (start, end) = text.split_at_checked(text.len().checked_sub(ending.len())?)?;
    end.eq_ignore_ascii_case(ending).then_some(start)
}

/// A protected path that a command created or changed, and that was put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Blocked {
    /// Where the command made its change.
    pub path: PathBuf,
    /// The name under which it is protected, as in [`NAMES`].
    pub name: String,
    /// Where the version of the command is now, if there is one.
    pub moved_to: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_at_any_depth_and_below() {
        for (path, name) in [
            (".git", ".git"),
            ("/srv/p/.git/hooks/pre-commit", ".git/hooks"),
            ("sub/.git/objects/ab", ".git"),
            ("a/.VSCode/tasks.json", ".vscode"),
            (".config/git/config", ".config/git"),
            ("x/waterline.toml", "waterline.toml"),
            ("x/Tide.code-workspace", "*.code-workspace"),
        ] {
            assert_eq!(name_of(Path::new(path)), Some(name), "{path}");
        }
        for path in ["a/git/hooks", ".gitignore", ".config/other", "config", "src/.cargo/x", ""] {
            assert_eq!(name_of(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn names_of_paths_that_a_git_configuration_leads_to() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        for directory in [".git", "tools/hooks", "store/objects", "store/refs", "apart"] {
            std::fs::create_dir_all(top.join(directory)).unwrap();
        }
        let config = "[core]\nhooksPath = tools/hooks\n[include]\npath = ../team.cfg\n";
        for (name, text) in [
            (".git/config", config),
            ("team.cfg", ""),
            ("store/HEAD", ""),
            ("apart/.git", "gitdir: ../store\n"),
        ] {
            std::fs::write(top.join(name), text).unwrap();
        }
        let name = |path: &str| name_at(std::slice::from_ref(&top), &top.join(path));
        assert_eq!(name("tools/hooks/pre-commit"), Some(GIT_HOOKS));
        assert_eq!(name("team.cfg"), Some(GIT_CONFIG));
        assert_eq!(name("store/description"), Some(GIT));
        assert_eq!(name(".husky/a"), Some(".husky"));
        assert_eq!((name("tools/x"), name("apart/x")), (None, None));
        // A repository may include a file that does not exist yet.
        std::fs::remove_file(top.join("team.cfg")).unwrap();
        std::fs::remove_dir_all(top.join("tools")).unwrap();
        assert_eq!(name("team.cfg"), Some(GIT_CONFIG));
        assert_eq!(name("tools/hooks/pre-commit"), Some(GIT_HOOKS));
        assert_eq!(name("other.cfg"), None);
    }

    /// The last write decides, in whatever order they come.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_path_that_completes_a_git_directory_is_protected() {
        let files = ["sub/HEAD", "sub/objects/x", "sub/refs/x"];
        for last in files {
            let temp = tempfile::tempdir().unwrap();
            let top = temp.path().canonicalize().unwrap();
            let name = |path: &str| name_at(std::slice::from_ref(&top), &top.join(path));
            let earlier = files.into_iter().filter(|file| *file != last).chain(["sub/config"]);
            for file in earlier {
                assert_eq!(name(file), None, "{file}");
                std::fs::create_dir_all(top.join(file).parent().unwrap()).unwrap();
                std::fs::write(top.join(file), "").unwrap();
            }
            assert_eq!(name(last), Some(GIT), "{last}");
        }
    }
}
