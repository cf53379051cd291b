//! Describes why a connection failed, in the words of the system rather than of the HTTP library.

use std::error::Error;
use std::io::{self, ErrorKind};

/// Returns the cause of a failed request, without the address, which may contain a key.
#[must_use]
pub fn connection_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "timed out".to_owned();
    }
    let first = error.source();
    let sources: Vec<_> = std::iter::successors(first, |&source| source.source()).collect();
    if sources.iter().any(|source| source.to_string() == "dns error") {
        return "name not found".to_owned();
    }
    if let Some(tls) = sources.iter().find_map(|&source| tls_error(source)) {
        return format!("TLS: {tls}");
    }
    let io = sources.iter().rev().find_map(|source| source.downcast_ref::<io::Error>());
    if let Some(cause) = io.and_then(|error| io_cause(error.kind())) {
        return cause.to_owned();
    }
    // The innermost cause says the most.
    sources.last().map_or_else(|| "unknown cause".to_owned(), ToString::to_string)
}

/// Returns the TLS error that an error is or contains.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let inner = || error.downcast_ref::<io::Error>()?.get_ref();
    error.downcast_ref().or_else(|| tls_error(inner()?))
}

fn io_cause(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ConnectionRefused => "connection refused",
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => "the server closed the connection",
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => "host not reachable",
        ErrorKind::TimedOut => "timed out",
        _ => return None,
    })
}
