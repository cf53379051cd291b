//! [`Host`]: an entry in the list of hosts that commands may reach.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The ports of an entry that names none: HTTP and HTTPS.
const DEFAULT_PORTS: [u16; 2] = [80, 443];

/// The longest name of a host.
const MAX_NAME: usize = 253;

/// An entry in the list of hosts that commands may reach: `crates.io`, `*.pypi.org` for all hosts
/// below a domain, `localhost:8080`, `10.0.0.5`. Without a port, ports 80 and 443 are allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    name: String,
    /// Whether every host below the name counts, instead of the name itself.
    below: bool,
    port: Option<u16>,
}

/// The error for an invalid entry in the list of hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid host {text:?}; expected a name such as crates.io, *.pypi.org or HOST:PORT")]
#[non_exhaustive]
pub struct InvalidHost {
    /// The text.
    pub text: String,
}

impl FromStr for Host {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost { text: text.to_owned() };
        let (name, port) = split_port(text).ok_or_else(invalid)?;
        let (name, below) = name.strip_prefix("*.").map_or((name, false), |name| (name, true));
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
        if name.is_empty() || !name.chars().all(is_name) || below && is_address(name) {
            return Err(invalid());
        }
        Ok(Self { name: name.trim_end_matches('.').to_ascii_lowercase(), below, port })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = if self.below { "*." } else { "" };
        match (self.port, self.name.contains(':')) {
            (Some(port), true) => write!(f, "[{}]:{port}", self.name),
            (Some(port), false) => write!(f, "{below}{}:{port}", self.name),
            (None, _) => write!(f, "{below}{}", self.name),
        }
    }
}

impl Host {
    /// Returns whether a command may connect to a host of this name at a port.
    #[must_use]
    pub fn allows(&self, name: &str, port: u16) -> bool {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let is_name = match self.below {
            true => name.strip_suffix(&self.name).is_some_and(|start| start.ends_with('.')),
            false => name == self.name,
        };
        is_name && self.allows_port(port)
    }

    /// Returns whether a command may connect to an address that is not public: the entry must name
    /// the address itself, or this machine as `localhost`.
    #[must_use]
    pub fn allows_private(&self, address: IpAddr, port: u16) -> bool {
        let is_named = self.name.parse::<IpAddr>().is_ok_and(|named| named == address)
            || self.name == "localhost" && !self.below && address.is_loopback();
        is_named && self.allows_port(port)
    }

    /// Returns the entry for one host at a port; `None` if this is not the name of a host.
    pub(crate) fn of(name: &str, port: u16) -> Option<Self> {
        let text = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
        let host: Self = text.parse().ok()?;
        let port = (!DEFAULT_PORTS.contains(&port)).then_some(port);
        (!host.below && name.len() <= MAX_NAME).then_some(Self { port, ..host })
    }

    fn allows_port(&self, port: u16) -> bool {
        self.port.map_or_else(|| DEFAULT_PORTS.contains(&port), |own| own == port)
    }
}

fn is_address(name: &str) -> bool {
    name.parse::<IpAddr>().is_ok()
}

/// Splits `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`. Returns `None` if the port is not a number.
pub(super) fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        return match port.strip_prefix(':') {
            Some(port) => Some((address, Some(port.parse().ok()?))),
            None => port.is_empty().then_some((address, None)),
        };
    }
    match text.split_once(':') {
        // An IPv6 address without brackets.
        Some((_, rest)) if rest.contains(':') => Some((text, None)),
        Some((name, port)) => Some((name, Some(port.parse().ok()?))),
        None => Some((text, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_match_by_name_and_port() {
        let allows =
            |entry: &str, name: &str, port| entry.parse::<Host>().unwrap().allows(name, port);
        assert!(allows("crates.io", "crates.io", 443) && allows("crates.io", "Crates.IO.", 80));
        assert!(allows("*.pypi.org", "files.pypi.org", 443));
        assert!(allows("localhost:8080", "localhost", 8080) && allows("[::1]:8080", "::1", 8080));
        for (entry, name, port) in [
            ("crates.io", "crates.io", 22),
            ("crates.io", "static.crates.io", 443),
            ("crates.io", "evilcrates.io", 443),
            ("*.pypi.org", "pypi.org", 443),
            ("*.pypi.org", "evilpypi.org", 443),
            ("localhost:8080", "localhost", 80),
        ] {
            assert!(!allows(entry, name, port), "{entry} {name} {port}");
        }
        for text in ["crates.io", "*.pypi.org:8443", "[::1]:80", "::1"] {
            assert_eq!(text.parse::<Host>().unwrap().to_string(), text);
        }
        let named = |name, port| Host::of(name, port).map(|host| host.to_string());
        assert_eq!(named("Crates.IO", 443).as_deref(), Some("crates.io"));
        assert_eq!(named("::1", 8080).as_deref(), Some("[::1]:8080"));
        assert_eq!((named("*.a.org", 443), named("a b", 80)), (None, None));
        for text in ["", "*", "*.", "a b", "a/b", "https://a", "a:b", "a:99999", "*.10.0.0.1"] {
            assert!(text.parse::<Host>().is_err(), "{text}");
        }
    }

    #[test]
    fn private_addresses_must_be_named() {
        let allows = |entry: &str, address: &str| {
            entry.parse::<Host>().unwrap().allows_private(address.parse().unwrap(), 80)
        };
        assert!(allows("10.0.0.5", "10.0.0.5") && allows("localhost", "127.0.0.1"));
        assert!(!allows("intranet", "10.0.0.5") && !allows("10.0.0.5", "10.0.0.6"));
        assert!(!allows("*.localhost", "127.0.0.1"));
    }
}
