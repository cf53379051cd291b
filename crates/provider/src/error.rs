//! Why a call gave no answer, with everything the provider said.

use std::time::Duration;

use crate::answer::Answer;
use crate::overflow::{Overflow, overflow, sentence};

/// Words that servers use of the shape of an answer and of nothing else, in small letters: the
/// names of its fields above all.
const SHAPE_WORDS: &[&str] = &[
    // OpenAI, and everything that imitates it
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

/// Words that may mean the shape of an answer, or that of a tool's arguments: they count beside one
/// that says no.
const SHAPE_HINTS: &[&str] = &["schema", "structured", "grammar", "json mode"];

/// How servers say that they cannot do something, whatever it is.
const NOES: &[&str] =
    &["unsupported", "not supported", "does not support", "unavailable", "cannot"];

/// A provider's no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The status of HTTP.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body, as it came.
    pub body: String,
}

impl Refused {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// Why a call gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server cannot be reached.
    #[error("cannot reach {url}: {text}; is the address right, and is the server running?")]
    Connect {
        /// The address.
        url: String,
        /// What went wrong.
        text: String,
    },
    /// The address holds more than an address.
    #[error(
        "the address must not hold a password, a key or a question mark; give the key apart from it"
    )]
    Address,
    /// The address is none.
    #[error("{0:?} is no address; it begins with http:// or https://")]
    NoAddress(String),
    /// The key is none.
    #[error("the key must be one word on one line")]
    Key,
    /// The server says nothing.
    #[error("{url} has said nothing for {after:?}")]
    Silent {
        /// The address.
        url: String,
        /// How long was waited.
        after: Duration,
    },
    /// The server says no.
    #[error("status {}: {}", .0.status, sentence(&.0.body))]
    Refused(Refused),
    /// The answer is none.
    #[error("{url} answers with something that is no stream: {}", body.chars().take(200).collect::<String>())]
    Malformed {
        /// The address.
        url: String,
        /// What came.
        body: String,
    },
    /// The provider reported an error in the middle of an answer.
    #[error("the answer failed: {}", sentence(body))]
    Failed {
        /// The error, as it came.
        body: String,
        /// What came before.
        answer: Box<Answer>,
    },
    /// The answer broke off.
    #[error("the answer broke off: {text}")]
    Broken {
        /// What went wrong.
        text: String,
        /// What came before.
        answer: Box<Answer>,
    },
}

impl CallError {
    /// A refusal with a status of HTTP, for models that are not reached over HTTP. The status
    /// decides whether it is retried.
    pub fn refused(status: u16, body: impl Into<String>) -> Self {
        Self::Refused(Refused { status, headers: Vec::new(), body: body.into() })
    }

    /// A failure that may pass, in the provider's words.
    pub fn failed(body: impl Into<String>) -> Self {
        Self::Failed { body: body.into(), answer: Box::default() }
    }

    /// Its kind, in one word for traces.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Address | Self::NoAddress(_) => "address",
            Self::Key => "key",
            Self::Connect { .. } => "connect",
            Self::Silent { .. } => "timeout",
            Self::Refused(_) => "refused",
            Self::Malformed { .. } => "malformed",
            Self::Failed { .. } => "failed",
            Self::Broken { .. } => "broken",
        }
    }

    /// What it says about a prompt that was too long.
    #[must_use]
    pub fn overflow(&self) -> Option<Overflow> {
        match self {
            Self::Refused(refused) => overflow(Some(refused.status), &refused.body),
            Self::Failed { body, .. } => overflow(None, body),
            _ => None,
        }
    }

    /// Whether it may be the shape of the answer that was refused, and the same call without it
    /// would do.
    #[must_use]
    pub fn refuses_shape(&self) -> bool {
        let Self::Refused(refused) = self else { return false };
        // Some take what they cannot do for a fault of their own.
        if !matches!(refused.status, 400 | 422 | 500 | 501) || self.overflow().is_some() {
            return false;
        }
        let text = refused.body.to_lowercase();
        let says = |list: &[&str]| list.iter().any(|words| text.contains(words));
        says(SHAPE_WORDS) || says(SHAPE_HINTS) && says(NOES)
    }

    /// What came before it, of an answer that broke off.
    #[must_use]
    pub fn partial(&self) -> Option<&Answer> {
        match self {
            Self::Failed { answer, .. } | Self::Broken { answer, .. } => Some(answer),
            _ => None,
        }
    }
}
