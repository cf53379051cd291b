//! Reads git directories: what they refer to, and whether a new one is harmless.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::{GIT_CONFIG, GIT_HOOKS};

/// The parts of a git directory that decide which programs git runs, with their names.
pub(super) const PARTS: [(&str, &str); 4] = [
    ("config", GIT_CONFIG),
    ("config.worktree", GIT_CONFIG),
    ("commondir", GIT_CONFIG),
    ("hooks", GIT_HOOKS),
];

/// The largest file that is read.
const MAX_BYTES: u64 = 1_000_000;

/// Names of entries by which git recognizes a git directory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Names {
    head: bool,
    objects: bool,
    refs: bool,
    commondir: bool,
}

impl Names {
    pub(super) fn add(&mut self, name: &str) {
        match name {
            "HEAD" => self.head = true,
            "objects" => self.objects = true,
            "refs" => self.refs = true,
            "commondir" => self.commondir = true,
            _ => {}
        }
    }

    pub(super) const fn are_of_git_directory(self) -> bool {
        self.head && (self.commondir || self.objects && self.refs)
    }
}

/// Returns the git directory that an entry named `.git` leads to.
pub(super) fn directory_of(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    if real.is_dir() {
        return Some(real);
    }
    let text = read(&real)?;
    let target = text.strip_prefix("gitdir:")?.trim();
    real.parent()?.join(target).canonicalize().ok()
}

/// Returns paths outside a git directory that decide which programs git runs: the common
/// directory, included configuration files, and the directory of the hooks.
pub(super) fn other_paths(directory: &Path) -> Vec<(PathBuf, &'static str)> {
    let mut paths = Vec::new();
    let common = read(&directory.join("commondir"))
        .and_then(|text| directory.join(text.trim()).canonicalize().ok());
    let config_directory = common.as_deref().unwrap_or(directory);
    if let Some(common) = &common {
        paths.extend(PARTS.map(|(part, name)| (common.join(part), name)));
    }
    let top = config_directory.parent().unwrap_or(config_directory);
    for file in ["config", "config.worktree"] {
        let text = read(&config_directory.join(file)).unwrap_or_default();
        for (section, key, value) in settings(&text).flatten() {
            match (section.as_str(), key.as_str()) {
                ("include" | "includeif", "path") => {
                    paths.push((resolve(config_directory, &value), GIT_CONFIG))
                }
                ("core", "hookspath") => paths.push((resolve(top, &value), GIT_HOOKS)),
                _ => {}
            }
        }
    }
    paths
}

/// Resolves a path of a configuration, as far as it exists.
fn resolve(base: &Path, value: &str) -> PathBuf {
    let path = base.join(value);
    path.canonicalize().unwrap_or(path)
}

/// Returns whether a new part of a git directory can run nothing, so that `git init` and `git
/// clone` can create it.
pub(super) fn is_harmless(path: &Path) -> bool {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("config") => read(path).is_some_and(|text| is_harmless_config(&text)),
        Some("commondir") => read(path).is_some_and(|text| text.trim() == "../.."),
        Some("hooks") => std::fs::read_dir(path).is_ok_and(|mut entries| {
            entries.all(|entry| {
                entry.is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(".sample"))
            })
        }),
        _ => false,
    }
}

/// Returns whether a configuration has only settings that git itself writes into a new repository.
fn is_harmless_config(text: &str) -> bool {
    settings(text).all(|setting| {
        let Some((section, key, value)) = setting else { return false };
        let known: &[&str] = match section.as_str() {
            "core" => &[
                "repositoryformatversion",
                "filemode",
                "bare",
                "logallrefupdates",
                "ignorecase",
                "precomposeunicode",
                "symlinks",
                "worktree",
            ],
            "remote" => &["url", "fetch", "tagopt"],
            "branch" => &["remote", "merge", "rebase"],
            "submodule" => &["url", "active"],
            "user" => &["name", "email"],
            "extensions" => &["objectformat", "refstorage"],
            _ => &[],
        };
        // `ext::` in an address runs a program.
        known.contains(&key.as_str()) && !value.contains("::")
    })
}

/// Returns the section, key and value of each setting, with sections and keys in lower case;
/// `None` for a line that cannot be parsed.
fn settings(text: &str) -> impl Iterator<Item = Option<(String, String, String)>> + '_ {
    let mut section = String::new();
    text.lines().map(str::trim).filter_map(move |line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return None;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.split([' ', '"', ']']).next().unwrap_or_default();
            // The old form of a subsection is `[section.name]`.
            section = name.split('.').next().unwrap_or_default().to_lowercase();
            return (!line.ends_with(']')).then_some(None);
        }
        let setting = line.split_once('=').filter(|_| !line.ends_with('\\'));
        Some(setting.map(|(key, value)| {
            let value = value.trim().trim_matches('"').to_owned();
            (section.clone(), key.trim().to_lowercase(), value)
        }))
    })
}

fn read(path: &Path) -> Option<String> {
    // A pipe would block.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_of_a_new_repository_are_harmless() {
        let new = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\
                   \turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/o/*\n";
        assert!(is_harmless_config(new));
        for line in [
            "[core]\nfsmonitor = x",
            "[core] fsmonitor = x",
            "[core]\nbare = false\\\n",
            "[diff]\nexternal = ./t.sh",
            "[filter \"x\"]\nclean = sh",
            "[include]\npath = ../evil",
            "[remote \"o\"]\nurl = ext::sh -c id",
            "[alias]\nst = !id",
            "nonsense",
        ] {
            assert!(!is_harmless_config(&format!("{new}{line}")), "{line}");
        }
    }
}
