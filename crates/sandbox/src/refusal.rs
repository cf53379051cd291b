//! Recognizes in the output of a command what the sandbox refused. The kernel reports refusals only
//! to the command, so they are read from its error messages: a guess, unless the path is known.

mod network;

use std::path::{Component, Path, PathBuf};

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
        /// The path that the command tried to reach.
        path: PathBuf,
        /// Whether it tried to change it, as far as its message says.
        #[serde(default)]
        write: bool,
    },
    /// A path outside the directories that the file tools may access.
    File {
        /// The path.
        path: PathBuf,
        /// Whether a tool tried to change it.
        write: bool,
    },
    /// A change in a directory that it may only read.
    ReadOnly {
        /// The path that the command tried to change.
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
        /// The directory that was not searched.
        path: PathBuf,
    },
    /// A connection to a host that is not allowed. Its name is not known.
    Network,
    /// A connection to this host.
    Host {
        /// The host as the list of allowed hosts would name it.
        host: String,
    },
    /// A socket of the command's own: one that listens, or that does not go through the proxy.
    Socket,
    /// A download by a package manager, which works offline because there is no network.
    Offline {
        /// The package manager.
        program: String,
        /// Where it gets its packages, as the list of allowed hosts would name it.
        host: String,
    },
}

/// Maximum number of refusals that are reported.
const MAX_REFUSALS: usize = 3;

/// Maximum number of bytes at the end of an output that are read.
const MAX_BYTES: usize = 64 * 1024;

/// Messages of the kernel for a refused path.
const DENIED: [&str; 3] = ["permission denied", "operation not permitted", "eacces"];
const READ_ONLY: [&str; 3] = ["read-only file system", "device or resource busy", "erofs"];

/// Words of messages about a path that could not be changed.
const CHANGES: [&str; 12] = [
    "cannot create",
    "cannot touch",
    "cannot remove",
    "cannot move",
    "cannot overwrite",
    "could not create",
    "couldn't create",
    "unable to create",
    "failed to create",
    "for writing",
    "changing permissions",
    "tee: ",
];

/// Returns what the sandbox may have refused to a command that started in `directory`. If it
/// succeeded, only messages that nothing else explains count: a pipeline succeeds even if one of
/// its earlier programs was refused something.
#[must_use]
pub(crate) fn find(output: &str, rules: &Rules, directory: &Path, succeeded: bool) -> Vec<Refusal> {
    let mut start = output.len().saturating_sub(MAX_BYTES);
    while !output.is_char_boundary(start) {
        start += 1;
    }
    let output = output.get(start..).unwrap_or_default();
    let mentions_sockets = output.to_lowercase().contains("socket");
    let network =
        network::Reader { network: &rules.network, strictly: succeeded, mentions_sockets };
    let mut found: Vec<Refusal> = Vec::new();
    for line in output.lines() {
        let lower = line.trim_end().to_lowercase();
        let refusal = path_refusal(line, &lower, rules, directory, succeeded)
            .or_else(|| network.refusal(&lower));
        found.extend(refusal.filter(|refusal| !found.contains(refusal)));
        if found.len() == MAX_REFUSALS {
            break;
        }
    }
    found
}

/// Programs that may be told to print nothing, and their exit statuses for a failed connection.
const SILENT: [(&str, i32); 3] = [("curl", 6), ("curl", 7), ("wget", 4)];

/// Returns the refusal that only the exit status of a command shows.
#[must_use]
pub(crate) fn of_status(command: &str, code: Option<i32>, rules: &Rules) -> Option<Refusal> {
    let runs = |program| command.split(|c: char| !c.is_alphanumeric()).any(|word| word == program);
    let failed = SILENT.iter().any(|&(program, status)| code == Some(status) && runs(program));
    (failed && rules.network != Network::Any).then_some(Refusal::Network)
}

/// Removes a refused connection without a host if the host is known.
pub(crate) fn remove_vague(refused: &mut Vec<Refusal>) {
    let is_known = |refusal: &Refusal| {
        matches!(refusal, Refusal::Host { .. } | Refusal::Socket | Refusal::Offline { .. })
    };
    if refused.iter().any(is_known) {
        refused.retain(|refusal| *refusal != Refusal::Network);
    }
}

/// Returns the refusal of a path that a line reports. `lower` is the line in lower case.
fn path_refusal(
    line: &str,
    lower: &str,
    rules: &Rules,
    directory: &Path,
    strictly: bool,
) -> Option<Refusal> {
    let has = |messages: &[&str]| {
        let is_match = |message: &&str| match strictly {
            true => is_whole(lower, message),
            false => lower.contains(message),
        };
        messages.iter().any(is_match)
    };
    let refused = |write| {
        let mut absolutes = paths(line).filter_map(|path| absolute(Path::new(path), directory));
        absolutes.find_map(|path| refused_path(path, rules, write))
    };
    if has(&READ_ONLY) {
        // Outside, the attributes of files are read-only.
        let named = paths(line).find_map(|path| protected::name_of(Path::new(path)));
        named.map(protected_refusal).or_else(|| refused(true))
    } else if has(&DENIED) {
        let is_change = CHANGES.iter().any(|words| lower.contains(words));
        // Reading is allowed there, so the file's own mode refuses it.
        refused(is_change)
            .filter(|refusal| is_change || !matches!(refusal, Refusal::ReadOnly { .. }))
    } else {
        None
    }
}

/// Returns whether a message ends a line, apart from the path or name that may follow it. In other
/// lines, such as those of a source file, it may be quoted.
fn is_whole(lower: &str, message: &str) -> bool {
    let Some((_, rest)) = lower.rsplit_once(message) else { return false };
    let about = rest.strip_prefix([':', ',', ' ']).unwrap_or_default();
    rest.trim_end_matches('.').is_empty()
        || !about.is_empty()
            && about.split_whitespace().count() <= 2
            && !about.ends_with([';', ',', ')', '"'])
}

fn protected_refusal(name: &'static str) -> Refusal {
    Refusal::Protected { name: name.to_owned() }
}

/// Returns the refusal of an absolute path, if the rules do not allow it.
fn refused_path(path: PathBuf, rules: &Rules, write: bool) -> Option<Refusal> {
    path.parent()?; // the root directory
    let is_in = |roots: &[PathBuf]| roots.iter().any(|root| path.starts_with(root));
    match (is_in(&rules.write), is_in(&rules.read)) {
        // The file's own mode refuses it.
        (true, _) => None,
        (false, true) => Some(Refusal::ReadOnly { path }),
        (false, false) => Some(Refusal::Outside { path, write }),
    }
}

/// Returns a path of a message as an absolute one without `.` and `..`. A relative path starts in
/// the directory where the command started. The command may have changed its directory, so a
/// relative path that leads nowhere has no absolute one.
fn absolute(path: &Path, directory: &Path) -> Option<PathBuf> {
    let mut absolute = PathBuf::new();
    for component in directory.join(path).components() {
        match component {
            Component::ParentDir => drop(absolute.pop()),
            component => absolute.push(component),
        }
    }
    let leads_somewhere = path.is_absolute() || absolute.parent().is_some_and(Path::is_dir);
    leads_somewhere.then_some(absolute)
}

/// Returns the words of a message that may be paths: first the quoted ones, which may contain
/// spaces, then the others from the end, because a message ends with what it is about. The program
/// that reports it comes first and is not one of them.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split(['\'', '"', '`', '‘', '’']).skip(1).step_by(2);
    let separators = |c: char| c.is_whitespace() || "'\"`‘’:,;()[]<>=".contains(c);
    let words = without_program(line).split(separators);
    quoted.chain(words.rev()).filter(|word| word.contains('/') || word.starts_with('.'))
}

/// Returns a message without the program at its start: `/bin/bash: line 1: x: Permission denied`.
/// A message of two parts, such as `/srv/x: Permission denied`, may begin with the refused path.
fn without_program(line: &str) -> &str {
    match line.split_once(": ") {
        Some((program, rest)) if !program.contains(' ') && rest.contains(": ") => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`super::find`] for a command that started in the workspace.
    fn find(output: &str, rules: &Rules, succeeded: bool) -> Vec<Refusal> {
        super::find(output, rules, Path::new("/srv/ws"), succeeded)
    }

    fn rules() -> Rules {
        Rules { write: vec!["/srv/ws".into()], read: vec!["/opt/sdk".into()], ..Rules::default() }
    }

    #[test]
    fn refused_paths_are_read_from_error_messages() {
        let outside = |path: &str, write| vec![Refusal::Outside { path: path.into(), write }];
        for (line, path, write) in [
            ("cat: /root/.netrc: Permission denied", "/root/.netrc", false),
            ("bash: line 1: /root/tool: Permission denied", "/root/tool", false),
            ("/bin/bash: line 1: /root/new.txt: Permission denied", "/root/new.txt", false),
            ("/opt/sdk/run: line 12: /root/sdk/start: Permission denied", "/root/sdk/start", false),
            ("ls: cannot open directory '/home/a b': Permission denied", "/home/a b", false),
            ("PermissionError: [Errno 13] Permission denied: '/srv/x'", "/srv/x", false),
            ("Error: EACCES: permission denied, open '/var/lib/x'", "/var/lib/x", false),
            ("touch: cannot touch '/tmp/x': Permission denied", "/tmp/x", true),
            ("mv: cannot move 'a/b' to '/tmp/x': Permission denied", "/tmp/x", true),
            ("bash: line 1: /root/new.txt: Read-only file system", "/root/new.txt", true),
            ("chmod: changing permissions of '/root/k': Read-only file system", "/root/k", true),
        ] {
            assert_eq!(find(line, &rules(), false), outside(path, write), "{line}");
        }
        let read_only = Refusal::ReadOnly { path: "/opt/sdk/x".into() };
        assert_eq!(
            find("rm: cannot remove '/opt/sdk/x': Permission denied", &rules(), false),
            [read_only]
        );
        assert_eq!(find("find: ‘/opt/sdk/x’: Permission denied", &rules(), false), []);
        for line in [
            "cat: /srv/ws/closed: Permission denied",
            "cat: ./closed: Permission denied",
            "/bin/bash: line 1: ./not-executable: Permission denied",
            "/bin/bash: line 1: name: Permission denied",
            "cat: /root/.netrc: No such file or directory",
            "git@example.org: Permission denied (publickey).",
            "all 3 tests passed",
        ] {
            assert_eq!(find(line, &rules(), false), [], "{line}");
        }
    }

    #[test]
    fn a_relative_path_starts_where_the_command_started() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let workspace = root.join("ws/deep");
        std::fs::create_dir_all(&workspace).unwrap();
        let rules = Rules { write: vec![root.join("ws")], ..Rules::default() };
        let refused = |line: &str| super::find(line, &rules, &workspace, false);
        let outside = |write| [Refusal::Outside { path: root.join("x"), write }];
        assert_eq!(refused("cat: ../../x: Permission denied"), outside(false));
        assert_eq!(refused("/bin/bash: line 1: ../../x: Permission denied"), outside(false));
        assert_eq!(refused("touch: cannot touch '../../x': Permission denied"), outside(true));
        assert_eq!(refused("cat: ../x: Permission denied"), []);
        // Here the command has changed its directory.
        assert_eq!(refused("cat: ../../missing/x: Permission denied"), []);
    }

    #[test]
    fn protected_paths_and_the_network_are_recognized() {
        let line = "fatal: Unable to create '/srv/ws/p/.git/index.lock': Read-only file system";
        assert_eq!(find(line, &rules(), false), [Refusal::Protected { name: ".git".to_owned() }]);
        let line = "error: could not write config file .git/config: Device or resource busy";
        assert_eq!(
            find(line, &rules(), false),
            [Refusal::Protected { name: ".git/config".to_owned() }]
        );
        let line = "curl: (6) Could not resolve host: crates.io";
        assert_eq!(find(line, &rules(), false), [host("crates.io")]);
        assert_eq!(find(line, &Rules { network: Network::Any, ..rules() }, false), []);
    }

    fn host(host: &str) -> Refusal {
        Refusal::Host { host: host.to_owned() }
    }

    fn offline(program: &str, host: &str) -> Refusal {
        Refusal::Offline { program: program.to_owned(), host: host.to_owned() }
    }

    /// A command whose output goes through a pipe succeeds.
    #[test]
    fn a_command_that_succeeded_has_refusals_only_in_plain_messages() {
        let outside = Refusal::Outside { path: "/root/secret".into(), write: false };
        for (line, refusal) in [
            ("cat: /root/secret: Permission denied", outside.clone()),
            ("PermissionError: [Errno 13] Permission denied: '/root/secret'", outside),
            ("curl: (6) Could not resolve host: example.org", host("example.org")),
            ("connect: Network is unreachable", Refusal::Network),
            (
                "As a reminder, you're using offline mode (--offline) which can sometimes cause",
                offline("cargo", "*.crates.io"),
            ),
        ] {
            assert_eq!(find(line, &rules(), true), [refusal], "{line}");
        }
        for line in [
            "    (\"cat: /root/secret: Permission denied\", \"/root/secret\"),",
            "src/a.rs:7: let line = \"cat: /root/secret: Permission denied\";",
            "src/a.rs:8: let line = \"curl: (6) Could not resolve host: crates.io\";",
            "cat: /srv/ws/secret: Permission denied",
            "the network is unreachable if the name resolution fails, see below",
        ] {
            assert_eq!(find(line, &rules(), true), [], "{line}");
        }
    }

    #[test]
    fn refused_sockets_and_hosts_are_recognized() {
        for (output, refusal) in [
            ("Error: listen EPERM: operation not permitted 0.0.0.0:3999", Refusal::Socket),
            ("Error: connect EPERM 127.0.0.1:5432 - Local (undefined:undefined)", Refusal::Socket),
            ("dial tcp 1.2.3.4:443: socket: operation not permitted", Refusal::Socket),
            (
                "  File \"/usr/lib/python3.11/socket.py\", line 233, in __init__\n\
                 PermissionError: [Errno 1] Operation not permitted",
                Refusal::Socket,
            ),
            ("ssh: Could not resolve hostname a.org: Temporary failure", Refusal::Socket),
            ("wget: unable to resolve host address ‘a.org’", host("a.org")),
            ("Error: getaddrinfo EAI_AGAIN registry.npmjs.org", host("registry.npmjs.org")),
            ("E: Could not resolve 'deb.debian.org'", host("deb.debian.org")),
            ("npm error code ENOTCACHED", offline("npm", "registry.npmjs.org")),
            (
                "go: a.org/x@v1.0.0: reading file:///h/go/pkg/mod/cache/download/a.org/x/@v/v1.mod: \
                 open /h/go/pkg/mod/cache/download/a.org/x/@v/v1.mod: no such file or directory",
                offline("go", "*.golang.org"),
            ),
            ("socket.gaierror: Temporary failure in name resolution", Refusal::Network),
        ] {
            assert_eq!(find(output, &rules(), false), [refusal], "{output}");
        }
        for line in [
            "PermissionError: [Errno 1] Operation not permitted",
            "dial unix: connect to the socket: permission denied",
        ] {
            assert_eq!(find(line, &rules(), false), [], "{line}");
        }
        let listed = Rules { network: Network::Hosts(vec!["a.org".to_owned()]), ..rules() };
        let unresolved = |name: &str| format!("curl: (6) Could not resolve host: {name}");
        assert_eq!(find(&unresolved("a.org"), &listed, false), [Refusal::Socket]);
        assert_eq!(find(&unresolved("b.org"), &listed, false), [host("b.org")]);
    }

    #[test]
    fn the_status_of_a_silent_program_shows_a_refused_connection() {
        let refused = |command, code| of_status(command, Some(code), &rules());
        assert_eq!(refused("curl -s https://a.org | cat", 6), Some(Refusal::Network));
        assert_eq!(refused("wget -q a.org", 4), Some(Refusal::Network));
        assert_eq!(refused("curl -s https://a.org", 22), None);
        assert_eq!(refused("./curly", 6), None);
        let online = Rules { network: Network::Any, ..rules() };
        assert_eq!(of_status("curl -s a.org", Some(6), &online), None);
    }

    #[test]
    fn a_known_host_replaces_a_vague_refusal() {
        let mut refused = vec![Refusal::Network, host("a.org")];
        remove_vague(&mut refused);
        assert_eq!(refused, [host("a.org")]);
        let mut refused = vec![Refusal::Network];
        remove_vague(&mut refused);
        assert_eq!(refused, [Refusal::Network]);
    }
}
