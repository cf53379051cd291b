//! Counting tokens: exactly where the vocabulary is public, by measured ratios elsewhere.
//!
//! A message is counted once, when it is appended. What a call really cost is fed back through
//! [`Calibration`], so that an estimate converges on the provider's own figures.

mod bpe;
mod calibrate;
mod estimate;
mod method;

pub use calibrate::Calibration;
pub use estimate::{Ratio, is_cjk};
pub use method::Method;

use crate::message::{Body, Message, Part, ToolCall, ToolResult};

/// Counts tokens in the way one model does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counter {
    method: Method,
    image: usize,
}

impl Counter {
    /// A counter with the tokens that one picture takes.
    #[must_use]
    pub const fn new(method: Method, image: usize) -> Self {
        Self { method, image }
    }

    /// How it counts.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.method
    }

    /// A name for it: two counters of the same name count alike.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.method, self.image)
    }

    /// The tokens of a text.
    #[must_use]
    pub fn text(&self, text: &str) -> usize {
        self.method.text(text)
    }

    /// The tokens of a message, with what surrounds it on the wire.
    #[must_use]
    pub fn message(&self, message: &Message) -> usize {
        let parts: usize = message.parts.iter().map(|part| self.part(part)).sum();
        parts + self.method.overhead().message
    }

    /// The tokens of one part.
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

    /// The tokens of a tool definition, given as JSON text.
    #[must_use]
    pub fn tool(&self, definition: &str) -> usize {
        self.text(definition) + self.method.overhead().call
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new(Method::O200k, 1_000)
    }
}
