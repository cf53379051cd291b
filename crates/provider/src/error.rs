//! Why a call failed, with the provider's whole response.

use std::time::Duration;

use waterline::json::{self, Fields};
use waterline::message::Message;
use waterline::phrase;
use waterline::phrase::Phrase;

use crate::answer::Answer;
use crate::overflow::{Overflow, overflow, sentence};

/// Phrases, mostly field names, that appear only in errors about the shape of an answer, in lower
/// case.
const SHAPE_PHRASES: &[&str] = &[
    // OpenAI and compatible servers
    "response_format",
    "response format",
    "text.format",
    "json_schema",
    "json schema",
    "json_object",
    "structured output",
    "json_validate_failed",
    // Gemini
    "responsejsonschema",
    "response_json_schema",
    "response_schema",
    "responsemimetype",
    "response_mime_type",
    "response mime type",
    "responseschema",
    // llama.cpp, vLLM
    "grammar constraint",
    "grammar error",
    "parse grammar",
];

/// Words that may mean the shape of an answer or of a tool's arguments. They count only together
/// with one of [`UNSUPPORTED`].
const SHAPE_HINTS: &[&str] = &["schema", "structured", "grammar", "json mode"];

/// Phrases by which servers reject something that they do not support.
const UNSUPPORTED: &[&str] =
    &["unsupported", "not supported", "does not support", "unavailable", "cannot"];

/// Phrases by which servers report that they could not parse a tool call that the model wrote, in
/// lower case.
const UNPARSED_CALL: &[&str] = &[
    // llama.cpp
    "parse tool call",
    "parse input at pos",
    // Ollama, vLLM
    "parsing tool call",
    "tool call parser",
    "tool parser",
    // Groq
    "tool_use_failed",
    "failed to call a function",
    // Gemini
    "malformed_function_call",
];

/// How providers report that an account has no credit left.
const SPENT: [&str; 3] =
    ["insufficient_quota", "billing_hard_limit_reached", "credit balance is too low"];

/// Maximum number of characters of an unexpected response that an error message quotes.
const QUOTED_CHARS: usize = 200;

/// An HTTP error response from a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The status code of HTTP.
    pub status: u16,
    /// The headers, some of which say how long to wait.
    pub headers: Vec<(String, String)>,
    /// The response body, unchanged.
    pub body: String,
    /// The address that was called; empty for a model that is not reached over HTTP.
    pub url: String,
}

impl Refused {
    /// Creates an error response.
    #[must_use]
    pub const fn new(status: u16, headers: Vec<(String, String)>, body: String) -> Self {
        Self { status, headers, body, url: String::new() }
    }

    /// Returns the value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Whether the account has no credit left, so that waiting does not help.
    pub(crate) fn is_quota_exhausted(&self) -> bool {
        self.status == 429 && SPENT.iter().any(|phrase| self.body.contains(phrase))
    }

    /// Describes the response: what happened, the status, the provider's message and a hint.
    fn describe(&self) -> String {
        let (what, hint) = match self.status {
            401 => ("authentication failed", "; check the API key"),
            403 => ("access denied", "; check the API key's permissions"),
            404 => ("not found", "; check the model name and the base URL"),
            408 => ("request timed out", ""),
            429 if self.is_quota_exhausted() => {
                ("quota exhausted", "; check the account's billing")
            }
            429 => ("rate limited", ""),
            status if overflow(Some(status), &self.body).is_some() => {
                ("context window exceeded", "")
            }
            503 | 529 => ("server overloaded", ""),
            500..=599 => ("server error", ""),
            400 | 422 => ("invalid request", ""),
            _ => ("request failed", ""),
        };
        let message = sentence(&self.body);
        let status = self.status;
        match message.trim() {
            "" => format!("{what} ({status}){hint}"),
            text if hint.is_empty() => format!("{what} ({status}): {text}"),
            text => format!("{what} ({status}): {}{hint}", text.trim_end_matches('.')),
        }
    }
}

/// Why a call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The connection to the server failed.
    #[error("could not connect to {url}: {text}; is the server running at that address?")]
    Connect {
        /// The address of the request, without secrets.
        url: String,
        /// What failed.
        text: Phrase,
    },
    /// The address is an HTTPS URL, and the server does not speak TLS.
    #[error("{url}: the server does not speak TLS; use http:// in the address")]
    NoTls {
        /// The address of the request, without secrets.
        url: String,
    },
    /// The address is an HTTP URL, and the server expects TLS.
    #[error("{url}: the server expects TLS; use https:// in the address")]
    ExpectsTls {
        /// The address of the request, without secrets.
        url: String,
    },
    /// The certificate of the server is not accepted.
    #[error("{url}: the server's certificate is not accepted: {cause}")]
    Certificate {
        /// The address of the request, without secrets.
        url: String,
        /// Why the certificate is rejected.
        cause: Phrase,
    },
    /// The base address contains a user name, a password, a query or a fragment.
    #[error(
        "the base URL must not contain a user name, password, query or fragment; \
         pass the API key separately"
    )]
    SecretInUrl,
    /// The base address is not an HTTP URL.
    #[error("invalid base URL {0:?}; it must start with http:// or https://")]
    InvalidUrl(String),
    /// The API key cannot be sent in a header.
    #[error("invalid API key: it must be one line of ASCII without spaces")]
    Key,
    /// The server did not respond in time.
    #[error("{url}: timed out after {} s waiting for a response", after.as_secs_f64())]
    Timeout {
        /// The address of the request, without secrets.
        url: String,
        /// How long the call waited.
        after: Duration,
    },
    /// The server responded with an HTTP error.
    #[error("{}", .0.describe())]
    Refused(Refused),
    /// The response is neither an event stream nor an answer.
    #[error("{url}: expected an event stream, got {}; check the base URL", quoted(body))]
    NotAStream {
        /// The address of the request, without secrets.
        url: String,
        /// What the server sent instead.
        body: String,
    },
    /// The response has no log-probabilities of the prompt.
    #[error(
        "{url} returned no log-probabilities for the prompt: {}; vLLM, SGLang and \
         llama-cpp-python with logits_all return them",
        quoted(body)
    )]
    NoLogprobs {
        /// The address of the request, without secrets.
        url: String,
        /// What the server sent instead.
        body: String,
    },
    /// The response does not have a vector for each text.
    #[error(
        "{url} returned no vectors: {}; check the base URL, and that the model is an embedding \
         model",
        quoted(body)
    )]
    NoVectors {
        /// The address of the request, without secrets.
        url: String,
        /// What the server sent instead.
        body: String,
    },
    /// The provider reported an error in the middle of an answer.
    #[error("the provider reported an error: {}", sentence(body))]
    Failed {
        /// The provider's error, unchanged.
        body: String,
        /// What arrived before the error.
        answer: Box<Answer>,
    },
    /// The stream was interrupted.
    #[error("stream interrupted: {text}")]
    Interrupted {
        /// What failed.
        text: Phrase,
        /// What arrived before the interruption.
        answer: Box<Answer>,
    },
}

/// Quotes the start of a response body for an error message.
fn quoted(body: &str) -> String {
    match body.trim() {
        "" => "an empty response".to_owned(),
        text => format!("{:?}", text.chars().take(QUOTED_CHARS).collect::<String>()),
    }
}

impl CallError {
    /// Creates a [`CallError::Refused`] for models that are not reached over HTTP. The status
    /// decides whether the call is retried.
    pub fn refused(status: u16, body: impl Into<String>) -> Self {
        Self::Refused(Refused::new(status, Vec::new(), body.into()))
    }

    /// Creates a transient [`CallError::Failed`] with the provider's error text.
    pub fn failed(body: impl Into<String>) -> Self {
        Self::Failed { body: body.into(), answer: Box::default() }
    }

    /// Creates the error for a stream that ended after `text` without an answer.
    #[must_use]
    pub fn no_answer(text: String) -> Self {
        let messages = (!text.is_empty()).then(|| Message::assistant(text)).into_iter().collect();
        Self::Interrupted {
            text: phrase!("stream-no-answer", "the stream ended without an answer"),
            answer: Box::new(Answer { messages, ..Answer::default() }),
        }
    }

    /// Creates the error for a successful response without an answer. If the body is an error of
    /// the provider, its own status decides whether the call is retried; without one, it is.
    pub(crate) fn in_success(url: &str, body: String) -> Self {
        // Without `alt=sse`, Gemini puts an error into a list.
        let first = json::elements(&body).and_then(|list| list.first().copied());
        let fields = Fields::parse(first.unwrap_or(&body));
        let error = fields.as_ref().and_then(|fields| fields.get("error"));
        let Some(error) = error.filter(|error| !json::is_null(error)) else {
            return Self::NotAStream { url: url.to_owned(), body };
        };
        let details = Fields::parse(error).unwrap_or_default();
        let number = |name: &str| details.get(name).and_then(|value| value.parse().ok());
        match number("code").or_else(|| number("status")) {
            Some(status @ 400..=599) => Self::refused(status, body),
            _ => Self::failed(body),
        }
    }

    /// Returns the kind of error as one word, for traces.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::SecretInUrl
            | Self::InvalidUrl(_)
            | Self::NoTls { .. }
            | Self::ExpectsTls { .. } => "address",
            Self::Key => "key",
            Self::Connect { .. } | Self::Certificate { .. } => "connect",
            Self::Timeout { .. } => "timeout",
            Self::Refused(_) => "refused",
            Self::NotAStream { .. } => "malformed",
            Self::NoLogprobs { .. } => "logprobs",
            Self::NoVectors { .. } => "vectors",
            Self::Failed { .. } => "failed",
            Self::Interrupted { .. } => "broken",
        }
    }

    /// Returns the overflow that this error reports, if the prompt was too long.
    #[must_use]
    pub fn overflow(&self) -> Option<Overflow> {
        match self {
            Self::Refused(refused) => overflow(Some(refused.status), &refused.body),
            Self::Failed { body, .. } => overflow(None, body),
            _ => None,
        }
    }

    /// Whether the server may have rejected the answer's shape, so that the same call without a
    /// shape may succeed.
    #[must_use]
    pub fn refuses_shape(&self) -> bool {
        let Self::Refused(refused) = self else { return false };
        // Some servers report an unsupported feature as a server error.
        if !matches!(refused.status, 400 | 422 | 500 | 501) || self.overflow().is_some() {
            return false;
        }
        let text = refused.body.to_lowercase();
        let mentions = |list: &[&str]| list.iter().any(|phrase| text.contains(phrase));
        mentions(SHAPE_PHRASES) || mentions(SHAPE_HINTS) && mentions(UNSUPPORTED)
    }

    /// Whether the server could not parse a tool call that the model wrote. The model may write the
    /// same call again, so the same request may fail again.
    #[must_use]
    pub fn is_unparsed_call(&self) -> bool {
        let body = match self {
            Self::Refused(refused) if matches!(refused.status, 400 | 422 | 500) => &refused.body,
            Self::Failed { body, .. } => body,
            _ => return false,
        };
        let text = body.to_lowercase();
        UNPARSED_CALL.iter().any(|phrase| text.contains(phrase))
    }

    /// Returns the partial answer that arrived before the stream was interrupted.
    #[must_use]
    pub fn partial(&self) -> Option<&Answer> {
        match self {
            Self::Failed { answer, .. } | Self::Interrupted { answer, .. } => Some(answer),
            _ => None,
        }
    }
}
