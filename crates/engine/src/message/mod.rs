//! Messages in a vendor-neutral form, together with the bytes they were received in.
//!
//! This file contains no wire format: the provider crate parses and renders vendor JSON.

mod part;
mod raw;

pub use crate::wire::{Dialect, Wire};
pub use part::{Body, Extra, Image, Opaque, Part, Thinking, ToolCall, ToolResult, Truncated};
pub use raw::Raw;

use serde::{Deserialize, Serialize};

use part::join_text;

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions from the program that runs the agent.
    System,
    /// The user, or a program in the user's role.
    User,
    /// The model, or a program that speaks for it.
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
    /// Who wrote it.
    pub role: Role,
    /// Its pieces, in order.
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
