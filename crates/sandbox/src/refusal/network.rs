//! Recognizes error messages of programs that have no network.

use super::{DENIED, Refusal, is_whole};
use crate::network::Host;
use crate::rules::Network;

/// Messages that the name of the host follows. Most of them end the line.
const NAMED: [&str; 7] = [
    "could not resolve host: ",
    "couldn't resolve host ",
    "could not resolve '",
    "unable to resolve host address ",
    "eai_again ",
    "dial tcp: lookup ",
    "(host='",
];

/// Messages without the name of a host.
const UNNAMED: [&str; 8] = [
    "could not resolve host",
    "name resolution",
    "name or service not known",
    "network is unreachable",
    "couldn't connect to server",
    "response 403",
    "proxy connect aborted",
    "nodename nor servname",
];

/// Messages of package managers that work offline, in two parts, and the host of their packages.
/// The program makes them work offline when commands have no network.
const OFFLINE: [(&str, &str, &str, &str); 5] = [
    ("cargo", "you're using offline mode", "", "*.crates.io"),
    ("cargo", "to make an http request", "offline was specified", "*.crates.io"),
    ("go", "/cache/download/", "no such file or directory", "*.golang.org"),
    ("npm", "enotcached", "", "registry.npmjs.org"),
    ("pnpm", "err_pnpm_no_offline", "", "registry.npmjs.org"),
];

/// Messages about a socket that a program may not have. Programs name it in the same line.
const NODE_SOCKETS: [&str; 4] = ["listen eperm", "listen eacces", "connect eperm", "bind eperm"];
const SOCKETS: [&str; 5] = ["socket", "urlopen", "listen tcp", "dial tcp", "dial udp"];

/// Messages of Python, which name the socket only in the traceback.
const PYTHON: [&str; 2] = ["[errno 1] operation not permitted", "[errno 13] permission denied"];

/// What is known about the command whose messages are read.
pub(super) struct Reader<'a> {
    pub(super) network: &'a Network,
    /// Whether to count only messages that nothing else explains.
    pub(super) strictly: bool,
    /// Whether the output mentions sockets.
    pub(super) mentions_sockets: bool,
}

impl Reader<'_> {
    /// Returns the refusal that a line reports. `lower` is the line in lower case.
    pub(super) fn refusal(&self, lower: &str) -> Option<Refusal> {
        if *self.network == Network::Any {
            return None;
        }
        let offline = || (*self.network == Network::Off).then(|| offline(lower)).flatten();
        offline().or_else(|| self.named(lower)).or_else(|| self.other(lower))
    }

    /// Returns the refusal of a line that names a host.
    fn named(&self, lower: &str) -> Option<Refusal> {
        let (message, rest) = NAMED.iter().find_map(|message| {
            lower.split_once(message).map(|(_, rest)| (message.trim_end_matches('\''), rest))
        })?;
        if self.strictly && !is_whole(lower, message.trim_end_matches([':', ' '])) {
            return None;
        }
        let quotes = |c: char| c.is_whitespace() || "'\"‘’,;()".contains(c);
        let name = rest.trim_start_matches(quotes).split(quotes).next().unwrap_or_default();
        let host = Host::of(name.trim_end_matches([':', '.']), HTTPS)?.to_string();
        Some(match self.network {
            // The program did not use the proxy, so that another list would not help.
            Network::Hosts(hosts) if is_listed(hosts, &host) => Refusal::Socket,
            _ => Refusal::Host { host },
        })
    }

    /// Returns the refusal of a line that names no host.
    fn other(&self, lower: &str) -> Option<Refusal> {
        if self.is_socket(lower) || lower.contains("could not resolve hostname") {
            return Some(Refusal::Socket);
        }
        let is_match = |message: &&&str| match self.strictly {
            true => is_whole(lower, message),
            false => lower.contains(**message),
        };
        UNNAMED.iter().find(is_match).map(|_| Refusal::Network)
    }

    fn is_socket(&self, lower: &str) -> bool {
        // A socket at a path is refused in any case.
        if lower.contains("unix") || lower.contains(".sock") {
            return false;
        }
        let has = |messages: &[&str]| messages.iter().any(|message| lower.contains(message));
        has(&NODE_SOCKETS)
            || has(&DENIED) && has(&SOCKETS) && !self.strictly
            || self.mentions_sockets && PYTHON.iter().any(|message| lower.ends_with(message))
    }
}

/// The port of a host that a message names without one.
const HTTPS: u16 = 443;

fn is_listed(hosts: &[String], name: &str) -> bool {
    let listed = hosts.iter().filter_map(|host| host.parse::<Host>().ok());
    listed.into_iter().any(|host| host.allows(name, HTTPS))
}

fn offline(lower: &str) -> Option<Refusal> {
    let found = OFFLINE
        .iter()
        .find(|(_, first, second, _)| lower.contains(first) && lower.contains(second));
    found.map(|(program, .., host)| Refusal::Offline {
        program: (*program).to_owned(),
        host: (*host).to_owned(),
    })
}
