//! Models behind HTTP: one request, an answer that streams, and errors that keep everything the
//! provider said.
//!
//! One call is one request here. What to do about an error (wait, fold, take another model) is the
//! caller's business; [`crate::retry`] says how long to wait.

mod body;
mod key;

pub use key::Key;

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryFutureExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use sse_stream::SseStream;
use waterline::message::Wire;

use crate::address::{self, client};
use crate::error::{CallError, Refused};
use crate::local;
use crate::model::{Model, Report, Request};
use crate::stream::{EventStream, RawEvent, decode};
use crate::wire;

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

/// A model server, by its address.
#[derive(Clone, Debug)]
pub struct Endpoint {
    wire: Wire,
    base: String,
    key: Option<Key>,
    timeouts: Timeouts,
    client: reqwest::Client,
}

impl Endpoint {
    /// An endpoint at a base address; without one, the provider's own.
    ///
    /// # Errors
    /// When the address or the key cannot be used, or the system's certificates cannot be read.
    pub fn new(
        wire: Wire,
        base: Option<&str>,
        key: Option<Key>,
        timeouts: Timeouts,
    ) -> Result<Self, CallError> {
        let base = base.unwrap_or_else(|| wire::default_base(wire)).trim_end_matches('/');
        // The address of the call itself, as some guides give it.
        let base = base.strip_suffix(wire::path(wire, "", "").as_str()).unwrap_or(base).to_owned();
        address::check(&base)?;
        if key.as_ref().is_some_and(|key| !key.is_sendable()) {
            return Err(CallError::Key);
        }
        // A key goes to the address it is meant for, and is not sent along when that one redirects.
        let client = client()
            .connect_timeout(timeouts.connect)
            .redirect(reqwest::redirect::Policy::none())
            .build();
        let client = client
            .map_err(|error| CallError::Connect { url: String::new(), text: causes(&error) })?;
        Ok(Self { wire, base, key, timeouts, client })
    }

    /// Sends a body and waits for the head of the answer.
    async fn send(&self, url: String, body: String) -> Result<reqwest::Response, CallError> {
        let mut call = self
            .client
            .post(&url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream");
        for (name, value) in wire::headers(self.wire, self.key.as_ref().map(Key::secret)) {
            call = call.header(name, value);
        }
        let sent = tokio::time::timeout(self.timeouts.first_byte, call.body(body).send()).await;
        let Ok(sent) = sent else {
            return Err(CallError::Silent { url, after: self.timeouts.first_byte });
        };
        let response = sent.map_err(|error| CallError::Connect { url, text: causes(&error) })?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let kind = response.headers().get(CONTENT_TYPE);
        if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            let body = body::text(response, self.timeouts).await;
            return Err(CallError::Malformed { url: self.base.clone(), body });
        }
        Ok(response)
    }

    async fn refused(&self, response: reqwest::Response) -> CallError {
        let status = response.status().as_u16();
        let text = |value: &reqwest::header::HeaderValue| {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), text(value)))
            .collect();
        CallError::Refused(Refused {
            status,
            headers,
            body: body::text(response, self.timeouts).await,
        })
    }

    /// The error without the key, which some servers repeat.
    fn redacted(&self, mut error: CallError) -> CallError {
        let secret =
            self.key.as_ref().map(Key::secret).filter(|secret| secret.len() >= SECRET_BYTES);
        let Some(secret) = secret else { return error };
        let redact = |text: &mut String| *text = text.replace(secret, "[key]");
        match &mut error {
            CallError::Refused(refused) => {
                redact(&mut refused.body);
                refused.headers.iter_mut().for_each(|(_, value)| redact(value));
            }
            CallError::Malformed { body, .. } | CallError::Failed { body, .. } => redact(body),
            _ => {}
        }
        error
    }
}

impl Model for Endpoint {
    fn call(&self, request: Request<'_>) -> EventStream {
        let url = format!("{}{}", self.base, wire::path(self.wire, &self.base, request.model));
        let body = request.body(self.wire);
        let (sender, endpoint) = (self.clone(), self.clone());
        let answered = async move {
            let response = sender.send(url, body).await?;
            let events = SseStream::from_bytes_stream(body::patient(response, sender.timeouts));
            let events = events.map(|event| match event {
                Ok(event) => {
                    Ok(RawEvent { name: event.event, data: event.data.unwrap_or_default() })
                }
                Err(error) => Err(causes(&error)),
            });
            Ok(decode(sender.wire, events))
        };
        let events = answered.try_flatten_stream();
        Box::pin(events.map(move |event| event.map_err(|error| endpoint.redacted(error))))
    }

    fn wire(&self) -> Wire {
        self.wire
    }

    fn address(&self) -> &str {
        &self.base
    }

    fn provider(&self) -> &str {
        wire::provider(self.wire)
    }

    /// Servers that imitate a provider may hold every word of the model to the shape, so that it
    /// can call no tool (vLLM, Ollama): where tools are wanted it goes to the provider's own
    /// address only.
    fn takes_shape(&self, with_tools: bool) -> bool {
        // With the version or without it, as addresses are given.
        let is_own = self.base.trim_end_matches("/v1")
            == wire::default_base(self.wire).trim_end_matches("/v1");
        wire::has_shape(self.wire) && (is_own || !with_tools)
    }

    fn report(&self) -> BoxFuture<'_, Report> {
        Box::pin(async { Report { models: local::models(&self.base).await } })
    }
}

/// What caused an error, outermost first. The error's own text is left out: it may hold an address
/// with a key in it.
fn causes(error: &dyn std::error::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(source) = next {
        let text = source.to_string();
        // Some errors repeat their cause in their own text.
        if !texts.last().is_some_and(|last| last.contains(&text)) {
            texts.push(text);
        }
        next = source.source();
    }
    if texts.is_empty() { "the cause is unknown".to_owned() } else { texts.join(": ") }
}
