//! What a protocol must say of itself. Everything the program asks about a wire is asked here, so
//! that a new one needs no edit elsewhere.

use waterline::json::Fields;
use waterline::message::{Message, Wire};
use waterline::validity::Violation;

use super::options::Options;
use super::read::{Reader, Refusal};
use super::rendered::Rendered;
use super::tool::Tool;
use crate::answer::Decoder;

/// One protocol. A built-in one has a line in `list.rs`, an application's own is given to
/// [`super::register`].
pub trait Format: Sync {
    /// Its name, and what the engine must know of it.
    fn wire(&self) -> Wire;

    /// By what a conversation is recognised.
    fn marks(&self) -> Marks;

    /// The name of the list of messages in a request body.
    fn list_field(&self) -> &'static str;

    /// The names under which a request body may hold the system prompt beside the list.
    fn system_fields(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a plain text may stand in place of the list.
    fn takes_text_for_list(&self) -> bool {
        false
    }

    /// The field of the answer's limit, on wires that demand one.
    fn required_limit(&self) -> Option<&'static str> {
        None
    }

    /// Whether an assistant message may hold images.
    fn takes_assistant_images(&self) -> bool {
        false
    }

    /// Reads one message of the list.
    ///
    /// # Errors
    /// When it is not a message of this wire.
    fn message(&self, json: &str, reader: &mut Reader) -> Result<Message, Refusal>;

    /// Reads the system prompt that stands beside the list.
    fn system(&self, json: &str, reader: &mut Reader) -> Option<Message> {
        let _ = (json, reader);
        None
    }

    /// Reads the tool definitions of one entry of `tools`.
    fn tools(&self, entry: &Fields<'_>) -> Vec<Tool>;

    /// Writes tool definitions that came from another wire.
    fn write_tools(&self, tools: &[Tool]) -> String;

    /// The address that is called if no other is given.
    fn default_base(&self) -> &'static str;

    /// The name of its provider, as OpenTelemetry's conventions for generative AI write it.
    fn provider(&self) -> &'static str;

    /// The beginnings of the names of models that are reached by this wire.
    fn model_prefixes(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a request can say what shape the answer must have.
    fn has_shape(&self) -> bool {
        true
    }

    /// Where below the base address a model is called.
    fn path(&self, model: &str) -> String;

    /// The headers of a call, with the key.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// The fields of a request beside context and tools, with model and options.
    fn settings(&self, model: &str, options: &Options) -> Vec<(&'static str, String)>;

    /// The context as a request holds it: with marks for the cache, where a wire has them.
    fn marked(&self, context: &Rendered) -> Rendered {
        context.clone()
    }

    /// Reads the events of a stream.
    fn decoder(&self) -> Box<dyn Decoder>;

    /// Writes a context.
    fn render(&self, messages: &[&Message]) -> Rendered;

    /// Checks a list of messages against the provider's rules.
    fn check(&self, messages: &[&str]) -> Vec<Violation>;
}

/// What only one wire has: by this the wire of a conversation is recognised.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// Fields of a request body.
    pub body: &'static [&'static str],
    /// Fields of a message.
    pub message: &'static [&'static str],
    /// Types of the blocks in a message's content.
    pub blocks: &'static [&'static str],
    /// Messages have a type of their own, other than `message`.
    pub typed_messages: bool,
}
