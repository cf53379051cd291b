//! Calls over HTTP: one request, an answer that streams, and errors that keep everything the provider said.
//!
//! One call is one request here. What to do about an error (wait, fold, take another model) is the caller's business;
//! [`retry`] says how long to wait.

mod error;
mod key;
pub mod retry;

pub use error::{CallError, Refused};
pub use key::Key;

use std::sync::Once;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use futures_util::{Stream, StreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use sse_stream::SseStream;
use waterline::message::Wire;

use crate::answer::{Answer, Delta, Stop, decoder};
use crate::wire::{self, Options, Rendered, Tool};

/// The most bytes of an error that are kept.
const MOST: usize = 1 << 20;

/// A shorter key may be part of any word.
const SECRET_BYTES: usize = 6;

/// How long to wait for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the first byte of an answer.
    pub first_byte: Duration,
    /// For the next one, once it streams.
    pub silence: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), first_byte: seconds(300), silence: seconds(120) }
    }
}

/// Where a model answers.
#[derive(Clone, Debug)]
pub struct Endpoint {
    wire: Wire,
    base: String,
    key: Option<Key>,
    timeouts: Timeouts,
    client: reqwest::Client,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The model, by the provider's name.
    pub model: &'a str,
    /// The context.
    pub context: &'a Rendered,
    /// The tool definitions.
    pub tools: &'a [Tool],
    /// Everything else.
    pub options: &'a Options,
}

impl Endpoint {
    /// An endpoint at a base address; without one, the provider's own.
    ///
    /// # Errors
    /// When the system's certificates cannot be read.
    pub fn new(wire: Wire, base: Option<&str>, key: Option<Key>, timeouts: Timeouts) -> Result<Self, CallError> {
        let base = base.unwrap_or_else(|| wire::default_base(wire)).trim_end_matches('/');
        // The address of the call itself, as some guides give it.
        let base = base.strip_suffix(wire::path(wire, "", "").as_str()).unwrap_or(base).to_owned();
        check_address(&base)?;
        if key.as_ref().is_some_and(|key| !key.is_sendable()) {
            return Err(CallError::Key);
        }
        // A key goes to the address it is meant for, and nowhere that this one points to.
        let client = client().connect_timeout(timeouts.connect).redirect(reqwest::redirect::Policy::none()).build();
        let client = client.map_err(|error| CallError::Connect { url: String::new(), text: chain(&error) })?;
        Ok(Self { wire, base, key, timeouts, client })
    }

    /// The wire that is spoken there.
    #[must_use]
    pub const fn wire(&self) -> Wire {
        self.wire
    }

    /// Its address.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether the shape of an answer can go with a call. Anthropic's wire has no field for it here. Servers that imitate a
    /// provider may hold every word of the model to it, so that it can call no tool (vLLM, Ollama): where tools are wanted it goes
    /// to the provider's own address only.
    #[must_use]
    pub fn takes_shape(&self, wants_tools: bool) -> bool {
        // With the version or without it, as addresses are given.
        let is_own = self.base.trim_end_matches("/v1") == wire::default_base(self.wire).trim_end_matches("/v1");
        self.wire != Wire::Anthropic && (is_own || !wants_tools)
    }

    /// Calls the model. `emit` hears each delta as it comes. Dropping the call ends it.
    ///
    /// # Errors
    /// When there is no answer, or it breaks off; then the error holds what came.
    pub async fn call(&self, request: Request<'_>, mut emit: impl FnMut(Delta)) -> Result<Answer, CallError> {
        let response = self.send(&request).await?;
        let is_stream =
            response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if !is_stream {
            let body = self.body(response).await;
            return Err(CallError::Malformed { url: self.base.clone(), body });
        }
        let mut decoder = decoder(self.wire);
        let mut events = SseStream::from_bytes_stream(patient(response, self.timeouts));
        while let Some(event) = events.next().await {
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    return Err(CallError::Broken { text: chain(&error), answer: Box::new(decoder.finish()) });
                }
            };
            let outcome = decoder.event(event.data.as_deref().unwrap_or_default(), &mut emit);
            if let Err(failure) = outcome {
                let body = self.redacted(&failure.0);
                return Err(CallError::Failed { body, answer: Box::new(decoder.finish()) });
            }
        }
        let answer = decoder.finish();
        if answer.stop == Stop::Interrupted {
            return Err(CallError::Broken { text: "the stream ended early".to_owned(), answer: Box::new(answer) });
        }
        Ok(answer)
    }

    async fn send(&self, request: &Request<'_>) -> Result<reqwest::Response, CallError> {
        let url = format!("{}{}", self.base, wire::path(self.wire, &self.base, request.model));
        let mut call =
            self.client.post(&url).header(CONTENT_TYPE, "application/json").header(ACCEPT, "text/event-stream");
        for (name, value) in wire::headers(self.wire, self.key.as_ref().map(Key::secret)) {
            call = call.header(name, value);
        }
        let call = call.body(wire::request(self.wire, request.model, request.options, request.tools, request.context));
        let sent = tokio::time::timeout(self.timeouts.first_byte, call.send()).await;
        let Ok(sent) = sent else { return Err(CallError::Silent { url, after: self.timeouts.first_byte }) };
        let response = sent.map_err(|error| CallError::Connect { url: url.clone(), text: chain(&error) })?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let header = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
            (name.to_string(), self.redacted(&String::from_utf8_lossy(value.as_bytes())))
        };
        let headers = response.headers().iter().map(header).collect();
        Err(CallError::Refused(Refused { status, headers, body: self.body(response).await }))
    }

    /// What a response says, up to a limit and as long as it says something.
    async fn body(&self, response: reqwest::Response) -> String {
        let mut bytes = Vec::new();
        let mut chunks = Box::pin(patient(response, self.timeouts));
        while let Some(Ok(chunk)) = chunks.next().await {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MOST {
                bytes.truncate(MOST);
                break;
            }
        }
        self.redacted(&String::from_utf8_lossy(&bytes))
    }

    /// A text of the server's without the key, which some servers repeat.
    fn redacted(&self, text: &str) -> String {
        match self.key.as_ref().map(Key::secret).filter(|secret| secret.len() >= SECRET_BYTES) {
            Some(secret) => text.replace(secret, "[key]"),
            None => text.to_owned(),
        }
    }
}

/// A client to be.
pub fn client() -> reqwest::ClientBuilder {
    static PROVIDER: Once = Once::new();
    // Who else uses TLS in this process may have chosen already.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::builder()
}

/// Whether an address is one of this machine. It is read as the client reads it that sends there: two readers could disagree about
/// which part of it is the host.
#[must_use]
pub fn is_local(base: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Why the bytes of an answer end.
#[derive(Debug, thiserror::Error)]
enum BytesError {
    #[error("the connection broke")]
    Connection(#[source] reqwest::Error),
    #[error("it is silent")]
    Silent(#[source] Silence),
}

#[derive(Debug, thiserror::Error)]
#[error("nothing came for {0:?}")]
struct Silence(Duration);

/// The bytes of an answer, as long as they come: the first may take its time, the others less. Any byte counts, also those
/// by which a server only says that it is still there.
fn patient(
    response: reqwest::Response,
    timeouts: Timeouts,
) -> impl Stream<Item = Result<Bytes, BytesError>> + Send + Unpin {
    let chunks = Box::pin(response.bytes_stream());
    Box::pin(unfold((Some(chunks), timeouts.first_byte), move |(chunks, wait)| async move {
        let mut chunks = chunks?;
        match tokio::time::timeout(wait, chunks.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(chunk))) => Some((Ok(chunk), (Some(chunks), timeouts.silence))),
            Ok(Some(Err(error))) => Some((Err(BytesError::Connection(error)), (None, wait))),
            Err(_) => Some((Err(BytesError::Silent(Silence(wait))), (None, wait))),
        }
    }))
}

/// An address as it may be shown: without a name, a password, a question or a fragment, any of which may be secret.
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

/// An address is stored and shown, so it must not hold a secret.
fn check_address(base: &str) -> Result<(), CallError> {
    let rest = base.strip_prefix("http://").or_else(|| base.strip_prefix("https://"));
    let authority = rest.and_then(|rest| rest.split('/').next()).filter(|authority| !authority.is_empty());
    match authority {
        Some(authority) if !authority.contains('@') && !base.contains(['?', '#']) => Ok(()),
        Some(_) => Err(CallError::Address),
        None => Err(CallError::NoAddress(base.chars().take(100).collect())),
    }
}

/// An error with what caused it, innermost last. The address is left out: it may hold a key.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = String::new();
    let mut next = error.source();
    while let Some(source) = next {
        text = source.to_string();
        next = source.source();
    }
    if text.is_empty() { "no more is known".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::bare;

    #[test]
    fn an_address_is_shown_as_it_is_without_what_may_be_secret() {
        assert_eq!(bare("https://tide.example/@crew/mcp"), "https://tide.example/@crew/mcp");
        assert_eq!(bare("http://127.0.0.1:8080"), "http://127.0.0.1:8080");
        assert_eq!(bare("https://me:hush@tide.example/@crew/mcp?key=hush#hush"), "https://tide.example/@crew/mcp");
        for none in ["hush", "me:hush@tide.example"] {
            assert_eq!(bare(none), "[no address]");
        }
    }
}
