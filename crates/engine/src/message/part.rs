//! The parts of a message: texts, thinking, images, calls and results.

use serde::{Deserialize, Serialize};

use crate::wire::Wire;

/// Fields of the wire that the neutral form does not have: name and JSON text, in their order.
pub type Extra = Vec<(String, String)>;

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredPart")]
pub struct Part {
    /// What it contains.
    #[serde(flatten)]
    pub body: Body,
    /// Its other fields on the wire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
    /// What was left out of it, if it was truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Box<Truncated>>,
}

/// A part as it is stored: exactly one of the first six fields is present. Flattening [`Body`]
/// would read the same, but it buffers every part, which takes longer than parsing it.
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
    /// Creates one without an artifact.
    #[must_use]
    pub const fn new(omitted: usize, total: usize) -> Self {
        Self { omitted, total, artifact: None }
    }

    /// Sets the artifact that holds the whole text.
    #[must_use]
    pub fn with_artifact(mut self, id: impl Into<String>) -> Self {
        self.artifact = Some(id.into());
        self
    }

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
    /// What the author wrote.
    Text(String),
    /// Reasoning that the model wrote before its answer.
    Thinking(Thinking),
    /// An image, inline or by its address.
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

/// A request of the model to run a tool.
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
#[non_exhaustive]
pub struct Opaque {
    /// The wire it belongs to.
    pub wire: Wire,
    /// The part as JSON text.
    pub json: String,
}

impl Opaque {
    /// Creates a part of this wire from its JSON.
    #[must_use]
    pub fn new(wire: Wire, json: impl Into<String>) -> Self {
        Self { wire, json: json.into() }
    }
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

/// Returns the texts of parts, joined by line breaks.
pub(super) fn join_text(parts: &[Part]) -> String {
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
