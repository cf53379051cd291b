//! Wire formats: vendor JSON in, neutral messages out, and back. One folder a protocol, the same files in each:
//! `parse`, `render`, `check`, `stream`.
//!
//! Same wire in and out: an untouched message goes out as the bytes it came in.

mod anthropic;
mod conversation;
mod detect;
mod error;
mod findings;
mod foreign;
mod gemini;
mod openai_chat;
mod openai_responses;
mod read;
mod rendered;

pub use conversation::{Conversation, Tool, body, kept, message, parse, tools};
pub use error::ParseError;
pub use rendered::{Json, Rendered};

use waterline::json::Fields;
use waterline::message::{Message, Wire};
use waterline::validity::Violation;

use crate::answer::Decoder;
use read::{Reader, Refusal};

/// One protocol.
trait Format: Sync {
    /// The name of the list of messages in a request body.
    fn list_field(&self) -> &'static str;

    /// The names under which a request body may hold the system prompt beside the list.
    fn system_fields(&self) -> &'static [&'static str];

    /// Reads one message of the list.
    fn message(&self, json: &str, reader: &mut Reader) -> Result<Message, Refusal>;

    /// Reads the system prompt that stands beside the list.
    fn system(&self, json: &str, reader: &mut Reader) -> Option<Message>;

    /// Reads the tool definitions of one entry of `tools`.
    fn tools(&self, entry: &Fields<'_>) -> Vec<Tool>;

    /// Writes tool definitions that came from another wire.
    fn write_tools(&self, tools: &[Tool]) -> String;

    /// Reads the events of a stream.
    fn decoder(&self) -> Box<dyn Decoder>;

    /// Writes a context.
    fn render(&self, messages: &[&Message]) -> Rendered;

    /// Checks a list of messages against the provider's rules.
    fn check(&self, messages: &[&str]) -> Vec<Violation>;
}

fn format(wire: Wire) -> &'static dyn Format {
    match wire {
        Wire::OpenaiChat => &openai_chat::OpenaiChat,
        Wire::OpenaiResponses => &openai_responses::OpenaiResponses,
        Wire::Anthropic => &anthropic::Anthropic,
        Wire::Gemini => &gemini::Gemini,
    }
}

/// A decoder for the streams of a wire.
pub(crate) fn decoder(wire: Wire) -> Box<dyn Decoder> {
    format(wire).decoder()
}

/// Writes a context for a wire.
#[must_use]
pub fn render(wire: Wire, messages: &[&Message]) -> Rendered {
    if !messages.iter().any(|message| foreign::needs_translation(wire, message)) {
        return format(wire).render(messages);
    }
    let native: Vec<_> = messages.iter().map(|message| foreign::translate(wire, message)).collect();
    let native: Vec<&Message> = native.iter().map(AsRef::as_ref).collect();
    format(wire).render(&native)
}

/// Checks a list of messages, each as JSON text, against the rules of a wire.
#[must_use]
pub fn check(wire: Wire, messages: &[&str]) -> Vec<Violation> {
    format(wire).check(messages)
}
