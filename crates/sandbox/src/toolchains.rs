//! Finds the compilers and interpreters that are installed below the user's home directory, so that
//! commands can run them. Only programs and downloaded packages are readable, never files that may
//! hold credentials.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{readlinkat, symlinkat};

/// A toolchain manager: the variable that names its directory, the usual directory below the home
/// directory if there is one, and what commands may read of it.
struct Manager {
    variable: &'static str,
    directory: &'static str,
    read: &'static [&'static str],
}

/// The whole directory.
const ALL: &[&str] = &[""];

const MANAGERS: [Manager; 15] = [
    Manager { variable: "RUSTUP_HOME", directory: ".rustup", read: ALL },
    Manager { variable: "PYENV_ROOT", directory: ".pyenv", read: ALL },
    Manager { variable: "NVM_DIR", directory: ".nvm", read: ALL },
    Manager { variable: "VOLTA_HOME", directory: ".volta", read: ALL },
    Manager { variable: "FNM_DIR", directory: ".local/share/fnm", read: ALL },
    Manager { variable: "RBENV_ROOT", directory: ".rbenv", read: ALL },
    Manager { variable: "ASDF_DATA_DIR", directory: ".asdf", read: ALL },
    Manager { variable: "MISE_DATA_DIR", directory: ".local/share/mise", read: ALL },
    Manager { variable: "SDKMAN_DIR", directory: ".sdkman", read: &["candidates", "bin"] },
    Manager { variable: "JAVA_HOME", directory: "", read: ALL },
    Manager { variable: "GOROOT", directory: "", read: ALL },
    Manager { variable: "UV_PYTHON_INSTALL_DIR", directory: ".local/share/uv/python", read: ALL },
    Manager { variable: "UV_TOOL_DIR", directory: ".local/share/uv/tools", read: ALL },
    Manager { variable: "DENO_INSTALL", directory: ".deno", read: &["bin"] },
    Manager { variable: "BUN_INSTALL", directory: ".bun", read: &["bin"] },
];

/// Other directories of programs below the home directory.
const DIRECTORIES: [&str; 13] = [
    ".local/bin",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/pipx",
    ".ghcup/bin",
    ".ghcup/ghc",
    ".m2/repository",
    "bin",
    "sdk",
    "miniconda3",
    "miniforge3",
    "mambaforge",
    "anaconda3",
];

/// The parts of Cargo's directory with downloaded packages.
const CARGO_PACKAGES: [&str; 2] = ["registry", "git"];

/// What commands need to run the user's toolchains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Toolchains {
    /// Directories and files that commands may read. They exist, and their paths have no links.
    pub read: Vec<PathBuf>,
    /// Variables that tell the toolchains where they are.
    pub variables: Vec<(String, String)>,
    /// Links to create in the home directory of a command, relative to it, each with its target:
    /// downloaded packages that a tool expects below its own, writable directory. They are
    /// read-only, so they help only a command without the network.
    pub offline_links: Vec<(PathBuf, PathBuf)>,
    /// Variables for a command without the network.
    pub offline_variables: Vec<(String, String)>,
}

impl Toolchains {
    /// Finds the toolchains of a user. `variable` looks up an environment variable.
    #[must_use]
    pub fn find(home: &Path, variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut found = Self::default();
        // A directory that contains the home directory holds all of the user's files.
        let Ok(home) = home.canonicalize() else { return found };
        let existing = |path: PathBuf| {
            path.canonicalize().ok().filter(|path| !home.starts_with(path) && path.is_absolute())
        };
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        for manager in &MANAGERS {
            let directory = set(manager.variable).unwrap_or_else(|| home.join(manager.directory));
            let Some(directory) = existing(directory) else { continue };
            let parts = manager.read.iter().filter_map(|part| existing(directory.join(part)));
            found.read.extend(parts);
            found.add_variable(manager.variable, directory.display());
        }
        found.read.extend(DIRECTORIES.iter().filter_map(|path| existing(home.join(path))));
        if let Some(cargo) = existing(set("CARGO_HOME").unwrap_or_else(|| home.join(".cargo"))) {
            found.add_cargo(&cargo);
        }
        // Without it, npm tries to reach its registry for more than half a minute.
        let npm = ("npm_config_offline".to_owned(), "true".to_owned());
        found.offline_variables.push(npm);
        if let Some(go) = existing(set("GOPATH").unwrap_or_else(|| home.join("go"))) {
            found.add_go_toolchain(&go);
        }
        found.read.sort();
        found.read.dedup();
        found
    }

    fn add_variable(&mut self, name: &str, value: impl std::fmt::Display) {
        self.variables.push((name.to_owned(), value.to_string()));
    }

    /// Adds Cargo's programs and downloaded packages. A command has its own Cargo directory in its
    /// home directory.
    fn add_cargo(&mut self, cargo: &Path) {
        self.read.extend(
            ["bin", "env"].map(|part| cargo.join(part)).into_iter().filter(|path| path.exists()),
        );
        for part in CARGO_PACKAGES {
            let packages = cargo.join(part);
            if packages.is_dir() {
                self.read.push(packages.clone());
                self.offline_links.push((Path::new(".cargo").join(part), packages));
            }
        }
        // Cargo reads the configuration of every directory above a project, and fails if it cannot.
        for name in ["config.toml", "config"] {
            let path = cargo.join(name);
            let text = std::fs::read_to_string(&path).unwrap_or_default().to_lowercase();
            if path.exists() && !["token", "password", "secret"].iter().any(|w| text.contains(w)) {
                self.read.push(path);
            }
        }
        self.offline_variables.push(("CARGO_NET_OFFLINE".to_owned(), "true".to_owned()));
    }

    /// Adds Go's programs and downloaded modules, which serve as a module proxy.
    fn add_go_toolchain(&mut self, go: &Path) {
        let modules = go.join("pkg/mod");
        let parts = [go.join("bin"), modules.clone()];
        self.read.extend(parts.into_iter().filter(|path| path.exists()));
        let downloads = modules.join("cache/download");
        if downloads.is_dir() {
            let proxy = format!("file://{}", downloads.display());
            self.offline_variables.push(("GOPROXY".to_owned(), proxy));
            self.offline_variables.push(("GOFLAGS".to_owned(), "-modcacherw".to_owned()));
        }
    }

    /// Creates the links in the home directory of a command without the network, or removes them
    /// for one that may download packages itself. A link that cannot be created is left out: the
    /// command then only lacks packages.
    pub fn link_packages(&self, home: &Path, offline: bool) {
        if offline {
            drop(std::fs::create_dir_all(home));
        }
        let Ok(home) = Dir::open_ambient_dir(home, ambient_authority()) else { return };
        for (path, target) in &self.offline_links {
            if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
                drop(link(&home, parent, name, target, offline));
            }
        }
    }
}

/// Creates or removes a link in a directory of a command's home directory. The command may have put
/// a link to any directory in its place, so it is reached through a handle that leads nowhere else.
fn link(
    home: &Dir,
    parent: &Path,
    name: &OsStr,
    target: &Path,
    offline: bool,
) -> std::io::Result<()> {
    if offline {
        home.create_dir_all(parent)?;
    }
    let directory = home.open_dir(parent)?;
    let linked = readlinkat(&directory, name, Vec::new());
    let is_link = linked.is_ok_and(|linked| linked.to_bytes() == target.as_os_str().as_bytes());
    if offline {
        // A file that a command put there stays: creating the link fails.
        symlinkat(target, &directory, name)?;
    } else if is_link {
        directory.remove_file(name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_readable_and_credentials_are_not() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
            std::fs::write(home.join(name), text).unwrap();
        };
        for name in [
            ".cargo/bin/cargo",
            ".cargo/registry/cache/a.crate",
            ".cargo/credentials.toml",
            ".rustup/settings.toml",
            ".local/share/uv/python/3.12/bin/python",
            ".local/share/uv/credentials/credentials.toml",
            ".m2/settings.xml",
            ".m2/repository/a.jar",
            ".config/gh/hosts.yml",
            "pythons/versions/3/bin/python",
        ] {
            write(name, "x");
        }
        write(".cargo/config.toml", "[registries.a]\ntoken = \"x\"");
        let variable =
            |name: &str| (name == "PYENV_ROOT").then(|| home.join("pythons").display().to_string());
        let found = Toolchains::find(&home, variable);
        let may_read = |name: &str| found.read.iter().any(|path| home.join(name).starts_with(path));
        for name in [
            ".cargo/bin/cargo",
            ".cargo/registry/cache/a.crate",
            ".rustup/settings.toml",
            ".local/share/uv/python/3.12/bin/python",
            ".m2/repository/a.jar",
            "pythons/versions/3/bin/python",
        ] {
            assert!(may_read(name), "{name}");
        }
        for name in [
            ".cargo/credentials.toml",
            ".cargo/config.toml",
            ".local/share/uv/credentials/credentials.toml",
            ".m2/settings.xml",
            ".config/gh/hosts.yml",
            "",
        ] {
            assert!(!may_read(name), "{name}");
        }
        let rustup = ("RUSTUP_HOME".to_owned(), home.join(".rustup").display().to_string());
        assert!(found.variables.contains(&rustup), "{found:?}");
        let npm = ("npm_config_offline".to_owned(), "true".to_owned());
        assert!(found.offline_variables.contains(&npm), "{found:?}");
    }

    #[test]
    fn links_to_packages_are_not_created_outside_the_home_directory() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().join("home");
        let any = temp.path().join("any");
        let own = temp.path().join("ws");
        for directory in [&home.join(".cargo/registry"), &any, &own] {
            std::fs::create_dir_all(directory).unwrap();
        }
        std::os::unix::fs::symlink(&any, own.join(".cargo")).unwrap();
        let found = Toolchains::find(&home, |_| None);
        assert!(!found.offline_links.is_empty());
        found.link_packages(&own, true);
        assert_eq!(std::fs::read_dir(&any).unwrap().count(), 0);
        // A link that leads there is not removed there either.
        let (path, target) = &found.offline_links[0];
        std::os::unix::fs::symlink(target, any.join(path.file_name().unwrap())).unwrap();
        found.link_packages(&own, false);
        assert_eq!(std::fs::read_dir(&any).unwrap().count(), 1);
    }

    #[test]
    fn links_to_packages_are_removed_when_the_network_is_on() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().join("home");
        std::fs::create_dir_all(home.join(".cargo/registry")).unwrap();
        let found = Toolchains::find(&home, |_| None);
        let own = temp.path().join("ws");
        let link = own.join(".cargo/registry");
        found.link_packages(&own, true);
        found.link_packages(&own, true);
        assert_eq!(
            link.canonicalize().unwrap(),
            home.join(".cargo/registry").canonicalize().unwrap()
        );
        found.link_packages(&own, false);
        assert!(std::fs::symlink_metadata(&link).is_err());
        std::fs::create_dir_all(&link).unwrap();
        found.link_packages(&own, true);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_dir());
    }
}
