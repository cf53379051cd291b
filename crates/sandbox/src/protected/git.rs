//! Reads git directories: what they refer to, and whether a new one is harmless.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

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

/// Maximum number of configuration files that are read for one git directory.
const MAX_CONFIG_FILES: usize = 100;

/// The entries by which git recognizes a git directory: the first, and the second or the others.
const MARKS: [&str; 4] = ["HEAD", "commondir", "objects", "refs"];

/// Returns whether git takes a directory for a git directory.
pub(super) fn is_git_directory(path: &Path) -> bool {
    is_git_directory_with(path, OsStr::new(""))
}

/// Returns whether a new entry turns a directory into a git directory.
pub(super) fn is_completed_by(directory: &Path, name: &OsStr) -> bool {
    MARKS.iter().any(|mark| name.eq_ignore_ascii_case(mark))
        && !is_git_directory(directory)
        && is_git_directory_with(directory, name)
}

fn is_git_directory_with(path: &Path, new: &OsStr) -> bool {
    let [head, common, objects, refs] = MARKS;
    let has =
        |mark: &str| new.eq_ignore_ascii_case(mark) || path.join(mark).symlink_metadata().is_ok();
    has(head) && (has(common) || has(objects) && has(refs))
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

/// Returns the git directory of a work tree that is outside it and names it.
pub(super) fn directory_outside(work_tree: &Path) -> Option<PathBuf> {
    let link = work_tree.join(".git");
    let directory = directory_of(&link)?;
    if directory.starts_with(work_tree) {
        return None;
    }
    let named = read(&directory.join("gitdir"));
    if let Some(named) = named {
        // A linked worktree: `REPOSITORY/worktrees/NAME`.
        let is_named = Path::new(named.trim()).canonicalize().ok()? == link.canonicalize().ok()?;
        let common = directory.parent().filter(|parent| parent.ends_with("worktrees"))?.parent()?;
        return (is_named && is_git_directory(common)).then(|| common.to_owned());
    }
    let text = read(&directory.join("config"))?;
    let top = settings(&text)
        .flatten()
        .find(|(section, key, _)| section == "core" && key == "worktree")?;
    let is_named = resolve(&directory, &top.2) == work_tree;
    (is_named && is_git_directory(&directory)).then_some(directory)
}

/// Returns paths outside a git directory that decide which programs git runs: the common
/// directory, included configuration files, and the directory of the hooks. `work_tree` is where a
/// relative directory of hooks begins, besides the parent of the git directory. `user` are the
/// configuration files of the user, which apply to every repository.
pub(super) fn other_paths(
    directory: &Path,
    work_tree: Option<&Path>,
    user: &[PathBuf],
) -> Vec<(PathBuf, &'static str)> {
    let mut paths = Vec::new();
    let other = read(&directory.join("commondir"))
        .and_then(|text| directory.join(text.trim()).canonicalize().ok());
    if let Some(other) = &other {
        paths.extend(PARTS.map(|(part, name)| (other.join(part), name)));
    }
    let common = other.as_deref().unwrap_or(directory);
    let mut tops: Vec<&Path> = common.parent().into_iter().chain(work_tree).collect();
    tops.dedup();
    let mut files = vec![common.join("config"), common.join("config.worktree")];
    if common != directory {
        files.push(directory.join("config.worktree"));
    }
    files.extend_from_slice(user);
    let mut next = 0;
    // Included files are added to the list and may include more.
    while let Some(file) = files.get(next).filter(|_| next < MAX_CONFIG_FILES).cloned() {
        next += 1;
        let text = read_start(&file).unwrap_or_default().replace("\\\n", "");
        let own = file.parent().unwrap_or(directory);
        for (section, key, value) in settings(&text).flatten() {
            match (section.as_str(), key.as_str()) {
                ("include" | "includeif", "path") => {
                    let included = resolve(own, &value);
                    paths.push((included.clone(), GIT_CONFIG));
                    files.extend((!files.contains(&included)).then_some(included));
                }
                ("core", "hookspath") => {
                    paths.extend(tops.iter().map(|top| (resolve(top, &value), GIT_HOOKS)));
                }
                _ => {}
            }
        }
    }
    paths
}

/// Resolves a path of a configuration, as far as it exists: the rest may be created later.
fn resolve(base: &Path, value: &str) -> PathBuf {
    let path = home_path(value).unwrap_or_else(|| base.join(value));
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(real.pop()),
            _ => real.push(part),
        }
        real = real.canonicalize().unwrap_or(real);
    }
    real
}

/// Returns the lines of an interrupted rebase that run a command when it continues.
pub(super) fn rebase_commands(todo: &Path) -> BTreeSet<String> {
    let Some((bytes, is_whole)) = read_bytes(todo) else { return BTreeSet::new() };
    let text = String::from_utf8_lossy(&bytes);
    let runs = |line: &&str| {
        line.split_whitespace().next().is_some_and(|word| ["exec", "x"].contains(&word))
    };
    let rest = (!is_whole).then_some("the rest of a long list");
    text.lines().filter(runs).chain(rest).map(|line| line.trim().to_owned()).collect()
}

/// Resolves `~/path` and `~user/path`. The supervisor has no environment of the user, so the home
/// directory is read from the list of users.
fn home_path(value: &str) -> Option<PathBuf> {
    let (user, rest) = value.strip_prefix('~')?.split_once('/')?;
    let own_id = rustix::process::getuid().as_raw().to_string();
    let users = read(Path::new("/etc/passwd"))?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, id) = (fields.next()?, fields.next()?, fields.next()?);
        let is_it = if user.is_empty() { id == own_id } else { name == user };
        is_it.then(|| fields.nth(2).map(|home| Path::new(home).join(rest))).flatten()
    })
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
    // No setting of a new repository needs an escape or continues on the next line.
    !text.contains('\\')
        && settings(text).all(|setting| {
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
    text.lines().map(str::trim).filter_map(move |mut line| {
        if let Some(rest) = line.strip_prefix('[') {
            let Some((header, setting)) = split_header(rest) else { return Some(None) };
            let name = header.split([' ', '\t', '"']).next().unwrap_or_default();
            // The old form of a subsection is `[section.name]`.
            section = name.split('.').next().unwrap_or_default().to_lowercase();
            // The first setting may be on the same line.
            line = setting.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            return None;
        }
        let setting = line.split_once('=');
        Some(setting.map(|(key, text)| (section.clone(), key.trim().to_lowercase(), value(text))))
    })
}

/// Splits `section "sub"] rest` at the bracket that ends the header.
fn split_header(text: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    let end = text.find(|c| {
        let is_end = c == ']' && !is_quoted;
        is_quoted ^= c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// Returns a value without its quotes and the comment after it.
fn value(text: &str) -> String {
    let mut value = String::new();
    let mut is_quoted = false;
    let mut rest = text.trim().chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => is_quoted = !is_quoted,
            '\\' => value.extend(rest.next()),
            '#' | ';' if !is_quoted => break,
            _ => value.push(c),
        }
    }
    value.trim_end().to_owned()
}

/// Reads a whole file; `None` if it is too large. What is not read could be anything.
fn read(path: &Path) -> Option<String> {
    let (bytes, is_whole) = read_bytes(path)?;
    String::from_utf8(bytes).ok().filter(|_| is_whole)
}

/// Reads a file that may be larger than what is read of it.
fn read_start(path: &Path) -> Option<String> {
    let (bytes, _) = read_bytes(path)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads the start of a file, and returns whether that is all of it.
fn read_bytes(path: &Path) -> Option<(Vec<u8>, bool)> {
    // A pipe would block.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(path).ok()?;
    (&mut file).take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let is_whole = file.read(&mut [0]).ok()? == 0;
    Some((bytes, is_whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_of_a_new_repository_are_harmless() {
        let new = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\
                   \turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/o/*\n";
        assert!(is_harmless_config(new));
        let temp = tempfile::tempdir().unwrap();
        let config = temp.path().join("config");
        std::fs::write(&config, new).unwrap();
        assert!(is_harmless(&config));
        std::fs::write(&config, format!("{new}{}", "#\n".repeat(600_000))).unwrap();
        assert!(!is_harmless(&config), "its end is not read");
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

    #[test]
    fn values_are_read_as_git_reads_them() {
        let text = "[core] hooksPath = a # why\n[Include \"x]y\"]\n\tpath = \"b c\" ; d\nnone\n";
        let read: Vec<_> = settings(text).collect();
        let setting = |section: &str, key: &str, value: &str| {
            Some((section.to_owned(), key.to_owned(), value.to_owned()))
        };
        let expected = [setting("core", "hookspath", "a"), setting("include", "path", "b c"), None];
        assert_eq!(read, expected);
    }

    #[test]
    fn included_files_are_followed() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        std::fs::create_dir(top.join(".git")).unwrap();
        std::fs::write(top.join(".git/config"), "[include] path = ../a\n").unwrap();
        std::fs::write(top.join("a"), "[include]\npath = b\n").unwrap();
        std::fs::write(top.join("b"), "[include]\npath = a\n[core]\nhooksPath = h\n").unwrap();
        let found = other_paths(&top.join(".git"), Some(&top), &[]);
        let a = (top.join("a"), GIT_CONFIG);
        let expected = [a.clone(), (top.join("b"), GIT_CONFIG), a, (top.join("h"), GIT_HOOKS)];
        assert_eq!(found, expected);
        let home = home_path("~root/hooks").unwrap();
        assert!(home.is_absolute() && home.ends_with("hooks"), "{home:?}");
    }
}
