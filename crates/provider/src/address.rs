//! Addresses of servers: which may be used, how one is shown, and the client that calls them.

use std::sync::Once;

use crate::error::CallError;

/// The builder of every HTTP client in the program, with its TLS implementation chosen.
pub fn client() -> reqwest::ClientBuilder {
    static PROVIDER: Once = Once::new();
    // Other users of TLS in this process may have chosen already.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::builder()
}

/// Whether an address is on this machine. It is parsed by the client's own parser: two parsers
/// could disagree about which part of it is the host.
#[must_use]
pub fn is_local(base: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// An address as it may be shown: without user name, password, query and fragment, any of which may
/// be secret.
#[must_use]
pub fn bare(url: &str) -> String {
    let parsed = reqwest::Url::parse(url).ok().filter(|url| !url.cannot_be_a_base());
    let Some(mut bare) = parsed else { return "[no address]".to_owned() };
    let is_named = !bare.username().is_empty() || bare.password().is_some();
    if !is_named && bare.query().is_none() && bare.fragment().is_none() {
        return url.to_owned();
    }
    bare.set_query(None);
    bare.set_fragment(None);
    // An address that has no place for them has none to hide.
    let _ = bare.set_username("");
    let _ = bare.set_password(None);
    bare.to_string()
}

/// Refuses a base address that holds a secret: it is stored and shown.
pub(crate) fn check(base: &str) -> Result<(), CallError> {
    let rest = base.strip_prefix("http://").or_else(|| base.strip_prefix("https://"));
    let authority =
        rest.and_then(|rest| rest.split('/').next()).filter(|authority| !authority.is_empty());
    match authority {
        Some(authority) if !authority.contains('@') && !base.contains(['?', '#']) => Ok(()),
        Some(_) => Err(CallError::Address),
        None => Err(CallError::NoAddress(base.chars().take(100).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::bare;

    #[test]
    fn an_address_is_shown_as_it_is_without_what_may_be_secret() {
        assert_eq!(bare("https://tide.example/@crew/mcp"), "https://tide.example/@crew/mcp");
        assert_eq!(bare("http://127.0.0.1:8080"), "http://127.0.0.1:8080");
        assert_eq!(
            bare("https://me:hush@tide.example/@crew/mcp?key=hush#hush"),
            "https://tide.example/@crew/mcp"
        );
        for none in ["hush", "me:hush@tide.example"] {
            assert_eq!(bare(none), "[no address]");
        }
    }
}
