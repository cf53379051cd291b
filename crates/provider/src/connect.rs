//! Describes why a connection failed, in the words of the system rather than of the HTTP library.

use std::error::Error;
use std::io::{self, ErrorKind};

use waterline::phrase;
use waterline::phrase::Phrase;

/// Returns the cause of a failed request, without the address, which may contain a key.
#[must_use]
pub fn connection_cause(error: &reqwest::Error) -> Phrase {
    if error.is_timeout() {
        return timed_out();
    }
    let first = error.source();
    let sources: Vec<_> = std::iter::successors(first, |&source| source.source()).collect();
    if sources.iter().any(|source| source.to_string() == "dns error") {
        return phrase!("connection-no-name", "name not found");
    }
    if let Some(tls) = sources.iter().find_map(|&source| tls_error(source)) {
        return phrase!("connection-tls", "TLS: {cause}", cause = tls.to_string());
    }
    let io = sources.iter().rev().find_map(|source| source.downcast_ref::<io::Error>());
    if let Some(cause) = io.and_then(|error| io_cause(error.kind())) {
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

fn io_cause(kind: ErrorKind) -> Option<Phrase> {
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
