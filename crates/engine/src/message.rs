//! Messages in a vendor-neutral form, together with the bytes they were received in.
//!
//! This file contains no wire format: the provider crate parses and renders vendor JSON.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::wire::{Dialect, Wire};

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions from the program that runs the agent.
    System,
    /// The user, or a program in the user's role.
    User,
    /// The model.
    Assistant,
    /// Only tool results.
    Tool,
}

impl Role {
    /// Returns the name, for people.
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

/// Fields of the wire that the neutral form does not have: name and JSON text, in their order.
pub type Extra = Vec<(String, String)>;

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredPart")]
pub struct Part {
    /// The content.
    #[serde(flatten)]
    pub body: Body,
    /// Its other fields on the wire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
    /// What was left out of it, if it was truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Box<Truncated>>,
}

/// A part as it is stored: exactly one of the first six fields is present. Flattening [`Body`] would
/// read the same, but it buffers every part, which takes longer than parsing it.
#[derive(Deserialize)]
struct StoredPart {
    text: Option<String>,
    thinking: Option<Thinking>,
    image: Option<Image>,
    call: Option<ToolCall>,
    result: Option<ToolResult>,
    opaque: Option<Opaque>,
    #[serde(default)]
    extra: Extra,
    truncated: Option<Box<Truncated>>,
}

impl TryFrom<StoredPart> for Part {
    type Error = &'static str;

    fn try_from(part: StoredPart) -> Result<Self, Self::Error> {
        let StoredPart { text, thinking, image, call, result, opaque, extra, truncated } = part;
        let body = text
            .map(Body::Text)
            .or(thinking.map(Body::Thinking))
            .or(image.map(Body::Image))
            .or(call.map(Body::Call))
            .or(result.map(Body::Result))
            .or(opaque.map(Body::Opaque))
            .ok_or("a part has no content")?;
        Ok(Self { body, extra, truncated })
    }
}

/// What was left out of a text, and where the whole text is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Truncated {
    /// The number of characters that were left out.
    pub omitted: usize,
    /// The number of characters of the whole text.
    pub total: usize,
    /// The id of the artifact that holds the whole text: the beginning of its hash. Without one,
    /// the whole text is in the message of the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
}

impl Truncated {
    /// Returns the number of characters that are left.
    #[must_use]
    pub const fn shown(&self) -> usize {
        self.total.saturating_sub(self.omitted)
    }
}

/// The content of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// Text.
    Text(String),
    /// Reasoning that the model wrote before its answer.
    Thinking(Thinking),
    /// An image.
    Image(Image),
    /// A tool call by the model.
    Call(ToolCall),
    /// The result of a tool call.
    Result(ToolResult),
    /// A part that has no neutral form. It is sent only to the wire it came from.
    Opaque(Opaque),
}

/// Reasoning, with the provider's proof of origin.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Thinking {
    /// The text. Empty if the provider hides it.
    pub text: String,
    /// Proof that the provider made it (Anthropic signature, Responses encrypted content).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// An image, by value or by reference.
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
    /// A URL that the provider can fetch.
    Url(String),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Links the call to its result. Empty if the wire had none.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as JSON text, never reformatted.
    pub arguments: String,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call. Empty if the wire had none.
    pub call_id: String,
    /// The name of the tool, on wires that repeat it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Text, images or opaque parts.
    pub parts: Vec<Part>,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// A part that only one wire understands.
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
    /// Creates a part with its other fields on the wire.
    #[must_use]
    pub const fn new(body: Body, extra: Extra) -> Self {
        Self { body, extra, truncated: None }
    }

    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Body::Text(text.into()).into()
    }
}

impl ToolCall {
    /// Creates a call to the tool `name` with its arguments as JSON text.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into() }
    }
}

impl ToolResult {
    /// Creates the result of the call `call_id` with one text.
    pub fn new(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), name: None, parts: vec![Part::text(text)], is_error: false }
    }

    /// Returns the text parts, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        join_text(&self.parts)
    }
}

/// The bytes that a message was received in: a range of a shared text, so that nothing is copied.
/// The text is an `Arc<String>`, because creating an `Arc<str>` would copy it.
#[derive(Clone)]
pub struct Raw {
    wire: Wire,
    source: Arc<String>,
    range: Range<usize>,
}

impl Raw {
    /// Creates a range of `source`, or `None` if the range is invalid.
    #[must_use]
    pub fn new(wire: Wire, source: Arc<String>, range: Range<usize>) -> Option<Self> {
        source.get(range.clone())?;
        Some(Self { wire, source, range })
    }

    /// Returns the wire format of the bytes.
    #[must_use]
    pub const fn wire(&self) -> Wire {
        self.wire
    }

    /// Returns the bytes as text.
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

/// How a message relates to the bytes it was received in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// The raw bytes have the same content and can be sent unchanged.
    #[default]
    AsReceived,
    /// Only call ids were assigned. The raw bytes can still be sent on a wire that pairs calls
    /// without ids.
    Renumbered,
    /// The parts differ from the raw bytes.
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

/// A message. A message without raw bytes is stored as JSON with the same fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The content.
    pub parts: Vec<Part>,
    /// The other fields on the wire, next to role and content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
    /// The bytes it was received in. `None` for a message created by this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
    /// Whether the raw bytes still have the same content as the parts.
    #[serde(default = "Form::changed", skip_serializing_if = "Form::is_changed")]
    pub form: Form,
}

impl Message {
    /// Creates a message without raw bytes.
    #[must_use]
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { role, parts, extra: Extra::new(), raw: None, form: Form::Changed }
    }

    /// Creates a system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, vec![Part::text(text)])
    }

    /// Creates a user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Part::text(text)])
    }

    /// Creates an assistant message.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, vec![Part::text(text)])
    }

    /// Creates an assistant message with tool calls. `text` precedes the calls and may be empty.
    pub fn assistant_with_calls(
        text: impl Into<String>,
        calls: impl IntoIterator<Item = ToolCall>,
    ) -> Self {
        let text: String = text.into();
        let text_part = (!text.is_empty()).then(|| Part::text(text));
        let call_parts = calls.into_iter().map(|call| Body::Call(call).into());
        Self::new(Role::Assistant, text_part.into_iter().chain(call_parts).collect())
    }

    /// Creates the result of a tool call that succeeded.
    pub fn tool_result(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(Role::Tool, vec![Body::Result(ToolResult::new(call_id, text)).into()])
    }

    /// Creates the result of a tool call that failed.
    pub fn tool_error(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        let result = ToolResult { is_error: true, ..ToolResult::new(call_id, text) };
        Self::new(Role::Tool, vec![Body::Result(result).into()])
    }

    /// Returns the text parts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match &part.body {
            Body::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns the text parts, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        join_text(&self.parts)
    }

    /// Returns whether any text part has more than white space.
    #[must_use]
    pub fn has_text(&self) -> bool {
        self.texts().any(|text| !text.trim().is_empty())
    }

    /// Returns the tool calls.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match &part.body {
            Body::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the tool results.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match &part.body {
            Body::Result(result) => Some(result),
            _ => None,
        })
    }

    /// Returns whether it contains nothing but thinking.
    #[must_use]
    pub fn only_thinks(&self) -> bool {
        !self.parts.is_empty()
            && self.parts.iter().all(|part| matches!(part.body, Body::Thinking(_)))
    }

    /// Returns whether any part is an image, also inside a result.
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
