//! Describes why a connection failed, in the words of the system instead of the HTTP library.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use waterline::phrase;
use waterline::phrase::Phrase;

use crate::error::CallError;

/// The timeout for finding out whether a server speaks TLS.
const TLS_PROBE: Duration = Duration::from_secs(2);

/// Returns the error for a request that got no response. If the server expects the other scheme, it
/// says so; `client` may send one request without a key to find out.
pub(crate) async fn connect_error(
    client: &reqwest::Client,
    url: String,
    error: &reqwest::Error,
) -> CallError {
    if lacks_tls(error) {
        return CallError::NoTls { url };
    }
    if let Some(cause) = sources(error).find_map(certificate_cause) {
        return CallError::Certificate { url, cause };
    }
    // A TLS server closes such a connection, or sends an alert that is not HTTP.
    let may_expect_tls = !error.is_timeout() && !error.is_connect();
    if let Some(rest) = url.strip_prefix("http://").filter(|_| may_expect_tls)
        && speaks_tls(client, &format!("https://{rest}")).await
    {
        return CallError::ExpectsTls { url };
    }
    CallError::Connect { url, text: connection_cause(error) }
}

/// Whether a server answered a TLS handshake with something else.
fn lacks_tls(error: &reqwest::Error) -> bool {
    sources(error).any(|source| {
        let not_tls = rustls::InvalidMessage::InvalidContentType;
        tls_error(source).is_some_and(|error| *error == rustls::Error::InvalidMessage(not_tls))
    })
}

/// Returns why the certificate of a server is not accepted, if that is the error.
fn certificate_cause(error: &(dyn Error + 'static)) -> Option<Phrase> {
    match tls_error(error)? {
        rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer) => {
            Some(phrase!(
                "certificate-unknown-issuer",
                "the system does not trust its issuer; SSL_CERT_FILE can name a file of \
                 certificates to trust"
            ))
        }
        rustls::Error::InvalidCertificate(cause) => Some(cause.to_string().into()),
        _ => None,
    }
}

/// Whether a server answers at an HTTPS address, even with a certificate that is not accepted.
async fn speaks_tls(client: &reqwest::Client, url: &str) -> bool {
    let Ok(origin) = reqwest::Url::parse(url).and_then(|url| url.join("/")) else { return false };
    match client.get(origin).timeout(TLS_PROBE).send().await {
        Ok(_) => true,
        Err(error) => {
            sources(&error).any(|source| tls_error(source).is_some()) && !lacks_tls(&error)
        }
    }
}

fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&source| source.source())
}

/// Returns the cause of a failed request, without the address, which may contain a key.
#[must_use]
pub fn connection_cause(error: &reqwest::Error) -> Phrase {
    if error.is_timeout() {
        return timed_out();
    }
    let sources: Vec<_> = sources(error).collect();
    if sources.iter().any(|source| source.to_string() == "dns error") {
        return phrase!("connection-no-name", "name not found");
    }
    if let Some(tls) = sources.iter().find_map(|&source| tls_error(source)) {
        return phrase!("connection-tls", "TLS: {cause}", cause = tls.to_string());
    }
    if let Some(cause) = sources.iter().rev().find_map(|&source| io_cause(source)) {
        return cause;
    }
    // The innermost cause says the most.
    let unknown = || phrase!("connection-unknown", "unknown cause");
    sources.last().map_or_else(unknown, |cause| cause.to_string().into())
}

/// Returns the TLS error that an error is or contains.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let inner = || error.downcast_ref::<io::Error>()?.get_ref();
    error.downcast_ref().or_else(|| tls_error(inner()?))
}

fn timed_out() -> Phrase {
    phrase!("connection-timed-out", "timed out")
}

/// Returns the cause of an I/O error, or of the I/O error that it wraps.
fn io_cause(error: &(dyn Error + 'static)) -> Option<Phrase> {
    let error = error.downcast_ref::<io::Error>()?;
    kind_cause(error.kind()).or_else(|| io_cause(error.get_ref()?))
}

fn kind_cause(kind: ErrorKind) -> Option<Phrase> {
    Some(match kind {
        ErrorKind::ConnectionRefused => phrase!("connection-refused", "connection refused"),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => {
            phrase!("connection-closed", "the server closed the connection")
        }
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            phrase!("connection-unreachable", "host not reachable")
        }
        ErrorKind::TimedOut => timed_out(),
        _ => return None,
    })
}
