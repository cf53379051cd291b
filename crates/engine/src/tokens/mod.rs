//! Counts tokens: exactly if the vocabulary is public, otherwise with measured ratios.
//!
//! A message is counted once, when it is appended. The usage that the provider reports is fed back
//! through [`Calibration`], so that estimates converge on the provider's counts.

mod bpe;
mod calibrate;
mod estimate;
mod method;

pub use calibrate::Calibration;
pub use estimate::{Ratio, is_cjk};
pub use method::Method;

use crate::message::{Body, Message, Part, ToolCall, ToolResult};
use crate::tool::Tool;

/// Counts tokens as one model does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counter {
    method: Method,
    image: usize,
}

impl Counter {
    /// Creates a counter. `image` is the number of tokens of one image.
    #[must_use]
    pub const fn new(method: Method, image: usize) -> Self {
        Self { method, image }
    }

    /// Returns how it counts.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.method
    }

    /// Returns its name. Two counters with the same name count alike.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.method, self.image)
    }

    /// Returns the tokens of a text.
    #[must_use]
    pub fn text(&self, text: &str) -> usize {
        self.method.text(text)
    }

    /// Returns the tokens of a message, with its overhead on the wire.
    #[must_use]
    pub fn message(&self, message: &Message) -> usize {
        let parts: usize = message.parts.iter().map(|part| self.part(part)).sum();
        parts + self.method.overhead().message
    }

    /// Returns the tokens of a part.
    #[must_use]
    pub fn part(&self, part: &Part) -> usize {
        match &part.body {
            Body::Text(text) => self.text(text),
            Body::Thinking(thinking) => self.text(&thinking.text),
            Body::Image(_) => self.method.overhead().image.unwrap_or(self.image),
            Body::Call(call) => self.call(call),
            Body::Result(result) => self.result(result),
            Body::Opaque(opaque) => self.text(&opaque.json),
        }
    }

    fn call(&self, call: &ToolCall) -> usize {
        self.text(&call.name) + self.text(&call.arguments) + self.method.overhead().call
    }

    fn result(&self, result: &ToolResult) -> usize {
        let parts: usize = result.parts.iter().map(|part| self.part(part)).sum();
        parts + self.method.overhead().result
    }

    /// Returns the tokens of a tool definition.
    #[must_use]
    pub fn tool(&self, tool: &Tool) -> usize {
        self.text(&tool.definition()) + self.method.overhead().call
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new(Method::O200k, 1_000)
    }
}
