//! Errors of a call to a model.

use waterline_provider::overflow::{overflow, sentence};
use waterline_provider::wire::UnknownWire;
use waterline_provider::{CallError, Refused};

use crate::lang::list;
use crate::phrase::phrase;
use crate::text;

/// Characters shown of an unexpected response.
const SHOWN: usize = 200;

/// Returns the text of an unknown wire name.
pub(super) fn unknown_wire(error: &UnknownWire) -> String {
    text!("error-unknown-wire", name = error.name.as_str(), known = list(&error.known))
}

pub(super) fn describe(error: &CallError) -> Option<String> {
    Some(match error {
        CallError::Connect { url, text } => {
            text!("error-call-connect", url = url.as_str(), cause = phrase(text))
        }
        CallError::NoTls { url } => text!("error-call-no-tls", url = url.as_str()),
        CallError::ExpectsTls { url } => text!("error-call-expects-tls", url = url.as_str()),
        CallError::Certificate { url, cause } => {
            text!("error-call-certificate", url = url.as_str(), cause = phrase(cause))
        }
        CallError::SecretInUrl => text!("error-call-secret-in-url"),
        CallError::InvalidUrl(url) => text!("error-call-url", url = url.as_str()),
        CallError::Key => text!("error-call-key"),
        CallError::Timeout { url, after } => {
            let seconds = after.as_secs_f64().to_string();
            text!("error-call-timeout", url = url.as_str(), seconds = seconds)
        }
        CallError::Refused(refused) => describe_refused(refused),
        CallError::NotAStream { url, body } => {
            text!("error-call-malformed", url = url.as_str(), start = start(body))
        }
        CallError::NoLogprobs { url, body } => {
            text!("error-call-no-logprobs", url = url.as_str(), start = start(body))
        }
        CallError::NoVectors { url, body } => {
            text!("error-call-no-vectors", url = url.as_str(), start = start(body))
        }
        CallError::Failed { body, .. } => text!("error-call-failed", reason = sentence(body)),
        CallError::Interrupted { text, .. } => {
            text!("error-call-interrupted", cause = phrase(text))
        }
        _ => return None,
    })
}

/// Quotes the start of a response.
fn start(body: &str) -> String {
    format!("{:?}", body.trim().chars().take(SHOWN).collect::<String>())
}

/// Describes an HTTP error: what happened, the status, the provider's message and a hint.
fn describe_refused(refused: &Refused) -> String {
    let kind = match refused.status {
        401 => "authentication",
        403 => "access",
        404 => "not-found",
        408 => "timeout",
        429 => "rate-limit",
        status if overflow(Some(status), &refused.body).is_some() => "overflow",
        503 | 529 => "overloaded",
        500..=599 => "server",
        400 | 422 => "request",
        _ => "other",
    };
    let mut shown = text!("error-call-refused", kind = kind, status = refused.status.to_string());
    let sentence = sentence(&refused.body);
    let reason = sentence.trim().trim_end_matches('.');
    if !reason.is_empty() {
        shown = text!("error-with-cause", error = shown, cause = reason);
    }
    if kind == "not-found" && !refused.url.is_empty() {
        // The server may speak another wire than the name of the model suggests.
        return shown + &text!("error-call-not-found-hint", url = refused.url.as_str());
    }
    shown + &text!("error-call-refused-hint", kind = kind)
}
