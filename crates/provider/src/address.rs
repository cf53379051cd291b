//! Server addresses: validation, safe display, and the HTTP client that connects to them.

use std::sync::Once;

use crate::error::CallError;

/// Returns the builder for every HTTP client in the program, with the TLS implementation set.
pub fn client() -> reqwest::ClientBuilder {
    static PROVIDER: Once = Once::new();
    // Fails if other code in this process has installed one already, which is fine.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::builder()
}

/// Whether an address is on this machine. Uses the HTTP client's own parser: two parsers could
/// disagree about which part is the host.
#[must_use]
pub fn is_local(base: &str) -> bool {
    let Some(host) = host(base) else { return false };
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns the host of an address, without the brackets of an IPv6 address.
#[must_use]
pub fn host(base: &str) -> Option<String> {
    let url = reqwest::Url::parse(base).ok()?;
    Some(url.host_str()?.trim_matches(['[', ']']).to_owned())
}

/// Returns an address that is safe to show: without user name, password, query and fragment, any
/// of which may be secret.
#[must_use]
pub fn bare(url: &str) -> String {
    let parsed = reqwest::Url::parse(url).ok().filter(|url| !url.cannot_be_a_base());
    let Some(mut bare) = parsed else { return "[invalid URL]".to_owned() };
    let has_user = !bare.username().is_empty() || bare.password().is_some();
    if !has_user && bare.query().is_none() && bare.fragment().is_none() {
        return url.to_owned();
    }
    bare.set_query(None);
    bare.set_fragment(None);
    // These fail only for URLs that cannot hold a user name, which then have none to hide.
    let _ = bare.set_username("");
    let _ = bare.set_password(None);
    bare.to_string()
}

/// Rejects a base address that may contain a secret, because addresses are stored and shown.
pub(crate) fn check(base: &str) -> Result<(), CallError> {
    let rest = base.strip_prefix("http://").or_else(|| base.strip_prefix("https://"));
    let authority =
        rest.and_then(|rest| rest.split('/').next()).filter(|authority| !authority.is_empty());
    match authority {
        Some(authority) if !authority.contains('@') && !base.contains(['?', '#']) => Ok(()),
        Some(_) => Err(CallError::SecretInUrl),
        None if base.contains(['@', '?', '#']) => Err(CallError::SecretInUrl),
        None => Err(CallError::InvalidUrl(base.chars().take(100).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::bare;

    #[test]
    fn shown_address_has_no_user_password_query_or_fragment() {
        assert_eq!(bare("https://tide.example/@crew/mcp"), "https://tide.example/@crew/mcp");
        assert_eq!(bare("http://127.0.0.1:8080"), "http://127.0.0.1:8080");
        assert_eq!(
            bare("https://me:hush@tide.example/@crew/mcp?key=hush#hush"),
            "https://tide.example/@crew/mcp"
        );
        for invalid in ["hush", "me:hush@tide.example"] {
            assert_eq!(bare(invalid), "[invalid URL]");
        }
    }
}
