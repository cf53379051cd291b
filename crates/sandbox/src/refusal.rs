//! Recognizes in the output of a command what the sandbox refused. The kernel reports refusals only
//! to the command, so they are read from its error messages: a guess, unless the path is known.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::protected::{self, Blocked};
use crate::rules::{Network, Rules};

/// An access that the sandbox refused, or may have refused, to a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// Access to a path outside the directories that it may access.
    Outside {
        /// The path.
        path: PathBuf,
    },
    /// A change in a directory that it may only read.
    ReadOnly {
        /// The path.
        path: PathBuf,
    },
    /// A change to a protected path.
    Protected {
        /// The name under which it is protected, as in [`protected::NAMES`].
        name: String,
    },
    /// A protected path that the command created or changed. It was put back.
    PutBack(Blocked),
    /// A path below which the command may have created protected paths: it could not be searched.
    Unchecked {
        /// The path.
        path: PathBuf,
    },
    /// The network.
    Network,
}

/// Maximum number of refusals that are reported.
const MAX_REFUSALS: usize = 3;

/// Maximum number of bytes at the end of an output that are read.
const MAX_BYTES: usize = 64 * 1024;

/// Messages of the kernel for a refused path.
const DENIED: [&str; 3] = ["permission denied", "operation not permitted", "eacces"];
const READ_ONLY: [&str; 3] = ["read-only file system", "device or resource busy", "erofs"];

/// Messages of programs that cannot reach the network.
const NO_NETWORK: [&str; 9] = [
    "could not resolve host",
    "couldn't resolve host",
    "name resolution",
    "name or service not known",
    "network is unreachable",
    "eai_again",
    "response 403",
    "proxy connect aborted",
    "nodename nor servname",
];

/// Returns what the sandbox may have refused to a failed command.
#[must_use]
pub(crate) fn find(output: &str, rules: &Rules) -> Vec<Refusal> {
    let mut start = output.len().saturating_sub(MAX_BYTES);
    while !output.is_char_boundary(start) {
        start += 1;
    }
    let mut found: Vec<Refusal> = Vec::new();
    for line in output.get(start..).unwrap_or_default().lines() {
        let lower = line.to_lowercase();
        let has = |messages: &[&str]| messages.iter().any(|message| lower.contains(message));
        let refusal = if has(&READ_ONLY) {
            paths(line).find_map(|path| protected::name_of(Path::new(path))).map(protected_refusal)
        } else if has(&DENIED) {
            paths(line).find_map(|path| refused_path(Path::new(path), rules))
        } else {
            None
        };
        let is_network = rules.network != Network::Any && has(&NO_NETWORK);
        let refusal = refusal.or(is_network.then_some(Refusal::Network));
        found.extend(refusal.filter(|refusal| !found.contains(refusal)));
        if found.len() == MAX_REFUSALS {
            break;
        }
    }
    found
}

fn protected_refusal(name: &'static str) -> Refusal {
    Refusal::Protected { name: name.to_owned() }
}

/// Returns the refusal of an absolute path, if the rules do not allow it.
fn refused_path(path: &Path, rules: &Rules) -> Option<Refusal> {
    // A relative path depends on the directory that the command was in.
    if !path.is_absolute() || path.parent().is_none() {
        return None;
    }
    let path: PathBuf = path.components().collect();
    let is_in = |roots: &[PathBuf]| roots.iter().any(|root| path.starts_with(root));
    match (is_in(&rules.write), is_in(&rules.read)) {
        // The file's own mode refuses it.
        (true, _) => None,
        (false, true) => Some(Refusal::ReadOnly { path }),
        (false, false) => Some(Refusal::Outside { path }),
    }
}

/// Returns the words of a message that may be paths: first the quoted ones, which may contain spaces,
/// then the others from the end. A message begins with the program that reports it, which may be a
/// path too, and ends with the path that was refused.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split(['\'', '"', '`', '‘', '’']).skip(1).step_by(2);
    let words = line.split(|c: char| c.is_whitespace() || "'\"`‘’:,;()[]<>=".contains(c));
    quoted.chain(words.rev()).filter(|word| word.contains('/') || word.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules { write: vec!["/srv/ws".into()], read: vec!["/opt/sdk".into()], ..Rules::default() }
    }

    #[test]
    fn refused_paths_are_read_from_error_messages() {
        let outside = |path: &str| vec![Refusal::Outside { path: path.into() }];
        for (line, path) in [
            ("cat: /root/.netrc: Permission denied", "/root/.netrc"),
            ("bash: line 1: /root/tool: Permission denied", "/root/tool"),
            ("/bin/bash: line 1: /root/new.txt: Permission denied", "/root/new.txt"),
            ("/opt/sdk/run: line 12: /root/sdk/start: Permission denied", "/root/sdk/start"),
            ("ls: cannot open directory '/home/a b': Permission denied", "/home/a b"),
            ("PermissionError: [Errno 13] Permission denied: '/srv/x'", "/srv/x"),
            ("Error: EACCES: permission denied, open '/var/lib/x'", "/var/lib/x"),
            ("touch: cannot touch '/tmp/x': Permission denied", "/tmp/x"),
        ] {
            assert_eq!(find(line, &rules()), outside(path), "{line}");
        }
        let read_only = Refusal::ReadOnly { path: "/opt/sdk/x".into() };
        assert_eq!(find("rm: /opt/sdk/x: Permission denied", &rules()), [read_only]);
        for line in [
            "cat: /srv/ws/closed: Permission denied",
            "cat: ../x: Permission denied",
            "cat: /root/.netrc: No such file or directory",
            "git@example.org: Permission denied (publickey).",
            "all 3 tests passed",
        ] {
            assert_eq!(find(line, &rules()), [], "{line}");
        }
    }

    #[test]
    fn protected_paths_and_the_network_are_recognized() {
        let line = "fatal: Unable to create '/srv/ws/p/.git/index.lock': Read-only file system";
        assert_eq!(find(line, &rules()), [Refusal::Protected { name: ".git".to_owned() }]);
        let line = "error: could not write config file .git/config: Device or resource busy";
        assert_eq!(find(line, &rules()), [Refusal::Protected { name: ".git/config".to_owned() }]);
        let line = "curl: (6) Could not resolve host: crates.io";
        assert_eq!(find(line, &rules()), [Refusal::Network]);
        assert_eq!(find(line, &Rules { network: Network::Any, ..rules() }), []);
    }
}
