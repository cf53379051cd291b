//! What the sandbox refused, with the flag, the command or the setting that would allow it.

use std::path::{Path, PathBuf};

use waterline_sandbox::Refusal;

use super::plain;
use crate::arguments::quoted;
use crate::environment::environment;
use crate::lang::list;
use crate::text;

/// How the user can grant more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granting {
    /// With flags, at the next start.
    Flags,
    /// With commands, in the chat.
    Commands,
}

impl Granting {
    /// Returns what grants access to a directory.
    fn directory(self, directory: &Path, write: bool) -> String {
        let mode = if write { "" } else { ":ro" };
        self.with("allow-dir", &format!("{}{mode}", directory.display()))
    }

    /// Returns what lets commands reach a host.
    fn host(self, host: &str) -> String {
        self.with("allow-host", host)
    }

    fn with(self, name: &str, value: &str) -> String {
        plain(&match self {
            Self::Flags => format!("--{name} {}", quoted(value)),
            Self::Commands => format!("/{name} {value}"),
        })
    }
}

/// Returns the lines about what was refused to one call. Paths with the same remedy share a line.
pub fn refusals(refused: &[Refusal], granting: Granting) -> Vec<String> {
    let home = environment().home();
    let mut shown: Vec<Shown> = Vec::new();
    for refusal in refused {
        let Some(new) = Shown::of(refusal) else {
            continue;
        };
        match shown.iter_mut().find(|known| known.remedy == new.remedy) {
            Some(known) => known.paths.extend(new.paths),
            None => shown.push(new),
        }
    }
    let others = refused.iter().filter_map(|refusal| other(refusal, granting));
    shown.iter().map(|shown| shown.text(granting, home.as_deref())).chain(others).collect()
}

/// Refused paths that one grant would allow.
struct Shown {
    paths: Vec<PathBuf>,
    remedy: Remedy,
}

/// The grant that would allow an access.
#[derive(PartialEq, Eq)]
struct Remedy {
    directory: PathBuf,
    write: bool,
    /// Whether a file tool was refused, whose result names the path.
    is_file_tool: bool,
}

impl Shown {
    /// Returns the path of a refusal with its remedy; `None` if no grant would allow it.
    fn of(refusal: &Refusal) -> Option<Self> {
        let (path, write, is_file_tool) = match refusal {
            Refusal::Outside { path, write } => (path, *write, false),
            Refusal::File { path, write } => (path, *write, true),
            _ => return None,
        };
        // Only directories that exist can be granted.
        let directory = path.ancestors().find(|path| path.is_dir())?.to_owned();
        let remedy = Remedy { directory, write, is_file_tool };
        Some(Self { paths: vec![path.clone()], remedy })
    }

    fn text(&self, granting: Granting, home: Option<&Path>) -> String {
        let Remedy { directory, write, is_file_tool } = &self.remedy;
        let grant = granting.directory(directory, *write);
        let shown = |path: &PathBuf| plain(&path.display().to_string());
        let paths = list(&self.paths.iter().map(shown).collect::<Vec<_>>());
        let scope = match home.is_some_and(|home| home.starts_with(directory)) {
            true => text!("refused-scope-home", directory = shown(directory)),
            false => shown(directory),
        };
        match (*is_file_tool, *write) {
            (true, true) => text!("refused-file-write", grant = grant, scope = scope),
            (true, false) => text!("refused-file", grant = grant, scope = scope),
            (false, true) => {
                text!("refused-outside-write", paths = paths, grant = grant, scope = scope)
            }
            (false, false) => text!("refused-outside", paths = paths, grant = grant, scope = scope),
        }
    }
}

/// Returns the text of a refusal that has another remedy than a granted directory.
fn other(refusal: &Refusal, granting: Granting) -> Option<String> {
    let shown = |path: &Path| plain(&path.display().to_string());
    Some(match refusal {
        Refusal::Outside { .. } | Refusal::File { .. } => return None,
        Refusal::ReadOnly { path } => text!("refused-read-only", path = shown(path)),
        Refusal::Protected { name } => text!("refused-protected", name = name.as_str()),
        Refusal::PutBack(blocked) => match &blocked.moved_to {
            Some(moved) => text!(
                "refused-moved",
                path = shown(&blocked.path),
                moved = shown(moved),
                name = blocked.name.as_str()
            ),
            None => {
                text!("refused-restored", path = shown(&blocked.path), name = blocked.name.as_str())
            }
        },
        Refusal::Unchecked { path } => text!("refused-unchecked", path = shown(path)),
        Refusal::Host { host } => {
            text!("refused-host", host = plain(host), grant = granting.host(host))
        }
        Refusal::Socket => text!("refused-socket"),
        Refusal::Offline { program, host } => {
            text!("refused-offline", program = program.as_str(), grant = granting.host(host))
        }
        _ => text!("refused-network", grant = granting.host("HOST")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(path: &Path, write: bool) -> Refusal {
        Refusal::Outside { path: path.to_owned(), write }
    }

    #[test]
    fn paths_with_the_same_remedy_share_a_line() {
        let temp = tempfile::tempdir().unwrap();
        let directory = temp.path().display();
        let [a, b] = ["a", "sub/b"].map(|name| temp.path().join(name));
        let refused = [outside(&a, true), outside(&b, true), outside(&a, false)];
        let lines = refusals(&refused, Granting::Commands);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("/sub/b"), "{}", lines[0]);
        assert!(lines[0].contains(&format!("/allow-dir {directory} ")), "{}", lines[0]);
        assert!(lines[1].contains(&format!("/allow-dir {directory}:ro ")), "{}", lines[1]);
        assert!(!lines[0].contains("read_dirs"), "{}", lines[0]);
        let file = [Refusal::File { path: a, write: true }];
        let lines = refusals(&file, Granting::Flags);
        assert!(lines[0].contains(&format!("--allow-dir {directory} ")), "{}", lines[0]);
    }

    #[test]
    fn a_grant_of_the_home_directory_is_named_as_such() {
        let home = environment().home().unwrap();
        let lines = refusals(&[outside(&home.join("no such file"), false)], Granting::Flags);
        assert!(lines[0].contains("your whole home directory"), "{}", lines[0]);
    }

    #[test]
    fn hosts_are_named_as_the_flag_takes_them() {
        let offline = Refusal::Offline { program: "cargo".into(), host: "*.crates.io".into() };
        let refused = [Refusal::Host { host: "localhost:8080".into() }, offline, Refusal::Socket];
        let lines = refusals(&refused, Granting::Flags);
        for (line, part) in
            lines.iter().zip(["--allow-host localhost:8080", "'*.crates.io'", "--allow-network"])
        {
            assert!(line.contains(part), "{line}");
        }
        assert!(refusals(&refused, Granting::Commands)[1].contains("/allow-host *.crates.io"));
    }
}
