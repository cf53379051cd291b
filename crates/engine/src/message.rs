//! One immutable thing said, in a form that belongs to no vendor, with the bytes it arrived in kept
//! beside it.
//!
//! This file knows no wire format: reading and writing vendor JSON is the provider crate's work.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::wire::{Dialect, Wire};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions of the program that runs the agent.
    System,
    /// The person, or whoever stands in for one.
    User,
    /// The model.
    Assistant,
    /// Nothing but results of tools.
    Tool,
}

impl Role {
    /// The name a person reads.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// Fields of the wire that the neutral form has no place for: name and JSON text, in their order.
pub type Extra = Vec<(String, String)>;

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What it is.
    #[serde(flatten)]
    pub body: Body,
    /// What else stood beside it on its wire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
    /// What was left out of it, where it is not whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Box<Truncated>>,
}

/// What was left out of a text, and where the whole of it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Truncated {
    /// Characters that were left out.
    pub omitted: usize,
    /// Characters of the whole text.
    pub total: usize,
    /// The id of the artifact that holds the whole text: the beginning of its hash. Without one,
    /// the message that the text came from has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
}

impl Truncated {
    /// Characters that are left.
    #[must_use]
    pub const fn shown(&self) -> usize {
        self.total.saturating_sub(self.omitted)
    }
}

/// What a part is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// Words.
    Text(String),
    /// Reasoning that the model wrote before its answer.
    Thinking(Thinking),
    /// A picture.
    Image(Image),
    /// The model asks for a tool to be run.
    Call(ToolCall),
    /// What a tool answered.
    Result(ToolResult),
    /// Something of a wire that has no neutral meaning; it goes back only to the wire it came from.
    Opaque(Opaque),
}

/// Reasoning, with what the provider needs to recognise it.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Thinking {
    /// The words; empty where the provider hides them.
    pub text: String,
    /// Proof that the provider made it (Anthropic signature, Responses encrypted content).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// A picture, by value or by reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Image {
    /// Base64 data with its media type.
    Inline {
        /// For example `image/png`.
        media: String,
        /// Base64.
        data: String,
    },
    /// An address the provider can fetch.
    Url(String),
}

/// A request to run a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Links the call with its result; empty where the wire gave none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as JSON text, never reformatted.
    pub arguments: String,
}

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call; empty where the wire gave none.
    pub call_id: String,
    /// The tool's name, on wires that repeat it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Text, images or opaque parts.
    pub parts: Vec<Part>,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// A part that only its own wire understands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// The wire it belongs to.
    pub wire: Wire,
    /// The part as JSON text.
    pub json: String,
}

impl From<Body> for Part {
    fn from(body: Body) -> Self {
        Self::new(body, Extra::new())
    }
}

impl Part {
    /// A part with what stood beside it on its wire.
    #[must_use]
    pub const fn new(body: Body, extra: Extra) -> Self {
        Self { body, extra, truncated: None }
    }

    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Body::Text(text.into()).into()
    }
}

impl ToolCall {
    /// A call of the tool `name` with its arguments as JSON text.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into() }
    }
}

impl ToolResult {
    /// The answer to the call `call_id`, as one text.
    pub fn new(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), name: None, parts: vec![Part::text(text)], is_error: false }
    }

    /// The text parts, joined.
    #[must_use]
    pub fn text(&self) -> String {
        join_text(&self.parts)
    }
}

/// The bytes a message arrived in: a stretch of a shared text, so that keeping them copies nothing.
/// The text is an `Arc<String>`, not an `Arc<str>`, because making the latter copies it.
#[derive(Clone)]
pub struct Raw {
    wire: Wire,
    source: Arc<String>,
    range: Range<usize>,
}

impl Raw {
    /// A stretch of `source`; `None` when the range is not one.
    #[must_use]
    pub fn new(wire: Wire, source: Arc<String>, range: Range<usize>) -> Option<Self> {
        source.get(range.clone())?;
        Some(Self { wire, source, range })
    }

    /// The wire the bytes are written in.
    #[must_use]
    pub const fn wire(&self) -> Wire {
        self.wire
    }

    /// The bytes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.source.get(self.range.clone()).unwrap_or_default()
    }
}

impl Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.wire, self.as_str()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (wire, text) = <(Wire, String)>::deserialize(deserializer)?;
        let range = 0..text.len();
        Ok(Self { wire, source: Arc::new(text), range })
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.wire, self.as_str())
    }
}

/// How far a message is from the bytes it arrived in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// The raw bytes say the same: they can be sent as they are.
    #[default]
    AsReceived,
    /// Only call ids were assigned: the raw bytes still serve on a wire that pairs calls without
    /// ids.
    Renumbered,
    /// The parts say something else than the raw bytes.
    Changed,
}

impl Form {
    const fn is_changed(&self) -> bool {
        matches!(self, Self::Changed)
    }

    const fn changed() -> Self {
        Self::Changed
    }
}

/// One thing said. As JSON it has the same fields; that is how a message without raw bytes is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
    /// What else stood beside role and content on its wire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
    /// The bytes it arrived in; none for a message made here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
    /// Whether the raw bytes still say what the parts say.
    #[serde(default = "Form::changed", skip_serializing_if = "Form::is_changed")]
    pub form: Form,
}

impl Message {
    /// A message made here, without raw bytes.
    #[must_use]
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { role, parts, extra: Extra::new(), raw: None, form: Form::Changed }
    }

    /// Instructions of the program that runs the agent.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, vec![Part::text(text)])
    }

    /// Text written by the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Part::text(text)])
    }

    /// Text written by the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, vec![Part::text(text)])
    }

    /// A message of the model that calls tools; `text` precedes the calls and may be empty.
    pub fn assistant_with_calls(
        text: impl Into<String>,
        calls: impl IntoIterator<Item = ToolCall>,
    ) -> Self {
        let text: String = text.into();
        let text_part = (!text.is_empty()).then(|| Part::text(text));
        let call_parts = calls.into_iter().map(|call| Body::Call(call).into());
        Self::new(Role::Assistant, text_part.into_iter().chain(call_parts).collect())
    }

    /// The result of a tool that succeeded.
    pub fn tool_result(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(Role::Tool, vec![Body::Result(ToolResult::new(call_id, text)).into()])
    }

    /// The result of a tool that failed.
    pub fn tool_error(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        let result = ToolResult { is_error: true, ..ToolResult::new(call_id, text) };
        Self::new(Role::Tool, vec![Body::Result(result).into()])
    }

    /// The text parts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match &part.body {
            Body::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The text parts, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        join_text(&self.parts)
    }

    /// Whether any text part has more than white space.
    #[must_use]
    pub fn has_text(&self) -> bool {
        self.texts().any(|text| !text.trim().is_empty())
    }

    /// The calls.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match &part.body {
            Body::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The results.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match &part.body {
            Body::Result(result) => Some(result),
            _ => None,
        })
    }

    /// Whether it holds nothing but thinking.
    #[must_use]
    pub fn only_thinks(&self) -> bool {
        !self.parts.is_empty()
            && self.parts.iter().all(|part| matches!(part.body, Body::Thinking(_)))
    }

    /// Whether any part is a picture, also inside a result.
    #[must_use]
    pub fn has_image(&self) -> bool {
        self.parts.iter().any(|part| match &part.body {
            Body::Image(_) => true,
            Body::Result(result) => {
                result.parts.iter().any(|inner| matches!(inner.body, Body::Image(_)))
            }
            _ => false,
        })
    }
}

fn join_text(parts: &[Part]) -> String {
    let mut joined = String::new();
    for part in parts {
        if let Body::Text(text) = &part.body {
            if !joined.is_empty() {
                joined.push('\n');
            }
            joined.push_str(text);
        }
    }
    joined
}
