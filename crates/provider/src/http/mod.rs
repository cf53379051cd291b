//! Models over HTTP: one request per call, a streamed answer, and errors that keep the provider's
//! whole response.
//!
//! This module does not retry. How to handle an error (wait, fold, use another model) is the
//! caller's decision; [`crate::retry`] computes how long to wait.

mod body;
mod key;
mod prompt_logprobs;

pub use key::Key;
pub use prompt_logprobs::PromptToken;

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

/// Shorter keys are not redacted from errors: they may be part of any word.
const MIN_REDACTED_KEY_BYTES: usize = 6;

/// The timeouts of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For establishing the connection.
    pub connect: Duration,
    /// For the first byte of the response.
    pub first_byte: Duration,
    /// For each next byte, once the response streams.
    pub silence: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), first_byte: seconds(300), silence: seconds(120) }
    }
}

/// A model server at an address.
#[derive(Clone, Debug)]
pub struct Endpoint {
    wire: Wire,
    base: String,
    key: Option<Key>,
    timeouts: Timeouts,
    client: reqwest::Client,
}

impl Endpoint {
    /// Creates an endpoint at a base address, by default the provider's own.
    ///
    /// # Errors
    /// If the address or the key is invalid, or the system's certificates cannot be read.
    pub fn new(
        wire: Wire,
        base: Option<&str>,
        key: Option<Key>,
        timeouts: Timeouts,
    ) -> Result<Self, CallError> {
        let base = base.unwrap_or_else(|| wire::default_base(wire)).trim_end_matches('/');
        // Some guides give the full URL of the call; strip its path.
        let base = base.strip_suffix(wire::path(wire, "", "").as_str()).unwrap_or(base).to_owned();
        address::check(&base)?;
        if key.as_ref().is_some_and(|key| !key.is_sendable()) {
            return Err(CallError::Key);
        }
        // No redirects: they would send the key to another address.
        let client = client()
            .connect_timeout(timeouts.connect)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| CallError::Connect { url: base.clone(), text: causes(&error) })?;
        Ok(Self { wire, base, key, timeouts, client })
    }

    /// Sends a request body and waits for the head of a streamed response.
    async fn send(&self, url: String, body: String) -> Result<reqwest::Response, CallError> {
        let response = self.post(url, body, "text/event-stream").await?;
        let content_type = response.headers().get(CONTENT_TYPE);
        if !content_type.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            let body = body::text(response, self.timeouts).await;
            return Err(CallError::Malformed { url: self.base.clone(), body });
        }
        Ok(response)
    }

    /// Sends a request body and waits for the head of a successful response.
    async fn post(
        &self,
        url: String,
        body: String,
        accept: &'static str,
    ) -> Result<reqwest::Response, CallError> {
        let mut call =
            self.client.post(&url).header(CONTENT_TYPE, "application/json").header(ACCEPT, accept);
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

    /// Removes the key from an error, because some servers echo it.
    fn redacted(&self, mut error: CallError) -> CallError {
        let long_enough = |secret: &&str| secret.len() >= MIN_REDACTED_KEY_BYTES;
        let Some(secret) = self.key.as_ref().map(Key::secret).filter(long_enough) else {
            return error;
        };
        let redact = |text: &mut String| *text = text.replace(secret, "[key]");
        match &mut error {
            CallError::Refused(refused) => {
                redact(&mut refused.body);
                refused.headers.iter_mut().for_each(|(_, value)| redact(value));
            }
            CallError::Malformed { body, .. }
            | CallError::NoLogprobs { body, .. }
            | CallError::Failed { body, .. } => redact(body),
            _ => {}
        }
        error
    }
}

impl Model for Endpoint {
    fn call(&self, request: Request<'_>) -> EventStream {
        let url = format!("{}{}", self.base, wire::path(self.wire, &self.base, request.model));
        let body = request.body(self.wire);
        let sender = self.clone();
        let endpoint = self.clone();
        let opened = async move {
            let response = sender.send(url, body).await?;
            let bytes = body::with_timeouts(response, sender.timeouts);
            let events = SseStream::from_bytes_stream(bytes).map(|event| match event {
                Ok(event) => {
                    Ok(RawEvent { name: event.event, data: event.data.unwrap_or_default() })
                }
                Err(error) => Err(causes(&error)),
            });
            Ok(decode(sender.wire, events))
        };
        let events = opened.try_flatten_stream();
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

    /// Some compatible servers (vLLM, Ollama) force all output into the shape, so the model can no
    /// longer call tools. With tools, only the provider's own address gets the shape.
    fn takes_shape(&self, with_tools: bool) -> bool {
        // Addresses are given with or without the version.
        let is_official = self.base.trim_end_matches("/v1")
            == wire::default_base(self.wire).trim_end_matches("/v1");
        wire::has_shape(self.wire) && (is_official || !with_tools)
    }

    fn report(&self) -> BoxFuture<'_, Report> {
        Box::pin(async { Report { models: local::models(&self.base).await } })
    }
}

/// Joins the causes of an error, outermost first. The error's own text is omitted: it may contain
/// an address with a key in it.
fn causes(error: &dyn std::error::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(source) = next {
        let text = source.to_string();
        // Some errors repeat their cause in their text.
        if !texts.last().is_some_and(|last| last.contains(&text)) {
            texts.push(text);
        }
        next = source.source();
    }
    if texts.is_empty() { "unknown cause".to_owned() } else { texts.join(": ") }
}
