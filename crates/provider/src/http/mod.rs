//! Models over HTTP: one request per call, a streamed answer, and errors that keep the provider's
//! whole response.
//!
//! This module does not retry. How to handle an error (wait, fold, use another model) is the
//! caller's decision; [`crate::retry`] computes how long to wait.

mod body;
mod embeddings;
mod key;
mod prompt_logprobs;

pub use key::Key;
pub use prompt_logprobs::PromptToken;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryFutureExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use waterline::message::Wire;
use waterline::phrase::Phrase;

use crate::address::{self, client};
use crate::connect::{connect_error, connection_cause};
use crate::error::{CallError, Refused};
use crate::facts::{self, Asker, ModelFacts};
use crate::local;
use crate::model::{Model, Request};
use crate::stream::{Event, EventStream, RawEvent, decode, server_sent};
use crate::wire::{self, Options};

/// Shorter keys are not redacted from errors: they may be part of any word.
const MIN_REDACTED_KEY_BYTES: usize = 6;

/// Maximum number of bytes of an answer that is not streamed.
const MAX_ANSWER_BYTES: usize = 1 << 26;

/// The timeouts of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For establishing the connection.
    pub connect: Duration,
    /// The longest silence before the first token of the answer: the server may have to read a
    /// long prompt first.
    pub first_token: Duration,
    /// The longest silence after that.
    pub silence: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), first_token: seconds(300), silence: seconds(120) }
    }
}

impl Timeouts {
    /// Returns the timeouts for an address. A server on this machine may read a long prompt at a
    /// few tokens per second.
    #[must_use]
    pub fn for_address(base: &str) -> Self {
        let usual = Self::default();
        if address::is_local(base) {
            Self { first_token: Duration::from_secs(1_800), ..usual }
        } else {
            usual
        }
    }
}

/// A model server at an address.
#[derive(Clone, Debug)]
pub struct Endpoint {
    wire: Wire,
    base: String,
    key: Option<Key>,
    timeouts: Timeouts,
    /// Whether the server knows the field for the key of its cache.
    takes_cache_key: bool,
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
            .map_err(|error| CallError::Connect {
                url: base.clone(),
                text: connection_cause(&error),
            })?;
        // A strict server rejects a request with a field that it does not know.
        let takes_cache_key = is_official(wire, &base);
        Ok(Self { wire, base, key, timeouts, takes_cache_key, client })
    }

    /// Says whether the server takes the key under which it caches prompts. By default only the
    /// provider's own address is sent one.
    #[must_use]
    pub const fn with_cache_key(mut self, takes_cache_key: bool) -> Self {
        self.takes_cache_key = takes_cache_key;
        self
    }

    /// Creates an endpoint for OpenAI's chat API.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub fn openai(key: impl Into<String>) -> Result<Self, CallError> {
        Self::of_provider(Wire::OPENAI_CHAT, key.into())
    }

    /// Creates an endpoint for Anthropic's API.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub fn anthropic(key: impl Into<String>) -> Result<Self, CallError> {
        Self::of_provider(Wire::ANTHROPIC, key.into())
    }

    /// Creates an endpoint for Google's Gemini API.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub fn gemini(key: impl Into<String>) -> Result<Self, CallError> {
        Self::of_provider(Wire::GEMINI, key.into())
    }

    fn of_provider(wire: Wire, key: String) -> Result<Self, CallError> {
        Self::new(wire, None, Some(Key::new(key)), Timeouts::default())
    }

    /// Sends a request body and waits for the start of the answer.
    async fn send(&self, url: String, body: String) -> Result<EventStream, CallError> {
        let response = self.post(url, body, "text/event-stream").await?;
        let content_type = response.headers().get(CONTENT_TYPE);
        if !content_type.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            let body = body::whole(response, self.timeouts, MAX_ANSWER_BYTES).await?;
            return self.read_whole(body);
        }
        let has_started = Arc::new(AtomicBool::new(false));
        let bytes = body::with_timeouts(response, self.timeouts, Arc::clone(&has_started));
        let events =
            server_sent(bytes).map(|event| event.map_err(|error| body::stream_cause(&error)));
        let events = decode(self.wire, events);
        Ok(Box::pin(events.inspect(move |event| {
            if matches!(event, Ok(Event::Delta(_))) {
                has_started.store(true, Ordering::Relaxed);
            }
        })))
    }

    /// Reads a successful response that is not a stream: a whole answer, because some servers
    /// ignore `stream`, or an error.
    fn read_whole(&self, body: String) -> Result<EventStream, CallError> {
        let events = wire::whole_answer(self.wire, &body);
        if !events.is_empty() {
            let events = events.into_iter().map(|data| Ok::<_, Phrase>(RawEvent::new(data)));
            return Ok(decode(self.wire, futures_util::stream::iter(events)));
        }
        Err(CallError::in_success(&self.base, body))
    }

    /// Sends a request body and waits for the head of a successful response.
    async fn post(
        &self,
        url: String,
        body: String,
        accept: &'static str,
    ) -> Result<reqwest::Response, CallError> {
        let call = self
            .client
            .post(&url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept)
            .headers(self.headers());
        let sent = tokio::time::timeout(self.timeouts.first_token, call.body(body).send()).await;
        let Ok(sent) = sent else {
            return Err(CallError::Timeout { url, after: self.timeouts.first_token });
        };
        let response = match sent {
            Ok(response) => response,
            Err(error) => return Err(connect_error(&self.client, url, &error).await),
        };
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        Ok(response)
    }

    async fn refused(&self, response: reqwest::Response) -> CallError {
        let status = response.status().as_u16();
        let url = address::bare(response.url().as_str());
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
            url,
        })
    }

    /// Returns the headers of the wire, with the key.
    fn headers(&self) -> HeaderMap {
        let headers = wire::headers(self.wire, self.key.as_ref().map(Key::secret)).into_iter();
        let readable = headers.filter_map(|(name, value)| {
            Some((
                HeaderName::from_bytes(name.as_bytes()).ok()?,
                HeaderValue::from_str(&value).ok()?,
            ))
        });
        readable.collect()
    }

    /// Lists the models of the server. Empty if it does not list them.
    pub async fn models(&self) -> Vec<String> {
        local::models_with(&self.base, self.headers()).await
    }

    /// Removes the key from an error, because some servers echo it.
    fn redacted(&self, mut error: CallError) -> CallError {
        let long_enough = |secret: &&str| secret.len() >= MIN_REDACTED_KEY_BYTES;
        let Some(secret) = self.key.as_ref().map(Key::secret).filter(long_enough) else {
            return error;
        };
        let redact = |text: &mut String| *text = without_secret(text, secret);
        let redact_phrase = |text: &mut Phrase| {
            let shown = without_secret(text.as_str(), secret);
            if shown != text.as_str() {
                *text = shown.into();
            }
        };
        match &mut error {
            CallError::Refused(refused) => {
                redact(&mut refused.body);
                redact(&mut refused.url);
                refused.headers.iter_mut().for_each(|(_, value)| redact(value));
            }
            CallError::NotAStream { url, body }
            | CallError::NoLogprobs { url, body }
            | CallError::NoVectors { url, body } => {
                redact(url);
                redact(body);
            }
            CallError::Connect { url, text } | CallError::Certificate { url, cause: text } => {
                redact(url);
                redact_phrase(text);
            }
            CallError::Interrupted { text, .. } => redact_phrase(text),
            CallError::Failed { body: text, .. }
            | CallError::InvalidUrl(text)
            | CallError::NoTls { url: text }
            | CallError::ExpectsTls { url: text }
            | CallError::Timeout { url: text, .. } => redact(text),
            CallError::SecretInUrl | CallError::Key => {}
        }
        error
    }
}

/// Replaces a secret in a text, also one that is written with the escapes of JSON: those would be
/// decoded when the text is shown.
fn without_secret(text: &str, secret: &str) -> String {
    let decoded = decoded(text);
    let text = if decoded.contains(secret) { &decoded } else { text };
    text.replace(secret, "[key]")
}

/// Decodes the escapes of JSON for characters that need none.
fn decoded(text: &str) -> String {
    let mut pieces = text.split('\\');
    let mut decoded = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece.strip_prefix('u').and_then(|rest| rest.get(..4));
        let code =
            code.and_then(|digits| u8::from_str_radix(digits.trim_start_matches('0'), 16).ok());
        let plain = code.map(char::from).filter(|c| c.is_ascii_graphic() && !"\"\\".contains(*c));
        match (plain, piece.get(5..)) {
            (Some(c), Some(rest)) => {
                decoded.push(c);
                decoded.push_str(rest);
            }
            _ if piece.starts_with('/') => decoded.push_str(piece),
            _ => {
                decoded.push('\\');
                decoded.push_str(piece);
            }
        }
    }
    decoded
}

/// Whether a base address is the provider's own. Addresses are given with or without the version.
fn is_official(wire: Wire, base: &str) -> bool {
    base.trim_end_matches("/v1") == wire::default_base(wire).trim_end_matches("/v1")
}

impl Model for Endpoint {
    fn call(&self, request: Request<'_>) -> EventStream {
        let url = format!("{}{}", self.base, wire::path(self.wire, &self.base, request.model));
        let options = Options {
            cache_key: request.options.cache_key.clone().filter(|_| self.takes_cache_key),
            ..request.options.clone()
        };
        let body = request.options(&options).body(self.wire);
        let sender = self.clone();
        let endpoint = self.clone();
        let opened = async move { sender.send(url, body).await };
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
        wire::has_shape(self.wire) && (is_official(self.wire, &self.base) || !with_tools)
    }

    fn facts<'a>(&'a self, model: &'a str) -> BoxFuture<'a, ModelFacts> {
        Box::pin(async move {
            match Asker::new(&self.base, Some(self.headers())) {
                Some(asker) => facts::ask(&asker, model).await,
                None => ModelFacts::default(),
            }
        })
    }
}
