//! The [`Format`] trait that each protocol implements. The program asks about a wire only through
//! it, so a new one needs no edit elsewhere.

use waterline::message::{Message, Wire};
use waterline::validity::Violation;

use super::Tool;
use super::json::Fields;
use super::options::Options;
use super::read::{Reader, Refusal};
use super::rendered::Rendered;
use crate::answer::Decoder;

/// One protocol. Built-in formats are listed in `list.rs`; an application passes its own to
/// [`super::register`].
pub trait Format: Sync {
    /// The wire: its name, and what the engine must know about it.
    fn wire(&self) -> Wire;

    /// The marks by which a conversation of this wire is detected.
    fn marks(&self) -> Marks;

    /// The name of the list of messages in a request body.
    fn list_field(&self) -> &'static str;

    /// The names of the field with a system prompt outside the list, in a request body.
    fn system_fields(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a plain text may replace the list.
    fn takes_text_for_list(&self) -> bool {
        false
    }

    /// The field of the output token limit, on wires that require one.
    fn required_limit(&self) -> Option<&'static str> {
        None
    }

    /// Whether an assistant message may contain images.
    fn takes_assistant_images(&self) -> bool {
        false
    }

    /// Parses one message of the list.
    ///
    /// # Errors
    /// If it is not a message of this wire.
    fn message(&self, json: &str, reader: &mut Reader) -> Result<Message, Refusal>;

    /// Parses the system prompt outside the list.
    fn system(&self, json: &str, reader: &mut Reader) -> Option<Message> {
        let _ = (json, reader);
        None
    }

    /// Parses the tool definitions of one entry of `tools`.
    fn tools(&self, entry: &Fields<'_>) -> Vec<Tool>;

    /// Renders tool definitions that came from another wire.
    fn write_tools(&self, tools: &[Tool]) -> String;

    /// The default base address.
    fn default_base(&self) -> &'static str;

    /// The provider's name in OpenTelemetry's conventions for generative AI.
    fn provider(&self) -> &'static str;

    /// What users need to call the provider itself. Formats of one provider return the same key
    /// variable.
    fn vendor(&self) -> Option<Vendor> {
        None
    }

    /// The prefixes of the names of models that use this wire.
    fn model_prefixes(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a request can set the shape of the answer.
    fn has_shape(&self) -> bool {
        true
    }

    /// The path of a call, relative to the base address.
    fn path(&self, model: &str) -> String;

    /// The headers of a call, including the key.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// The fields of a request for model and options, without context and tools.
    fn settings(&self, model: &str, options: &Options) -> Vec<(&'static str, String)>;

    /// The context for a request, with cache marks if the wire has them.
    fn marked(&self, context: &Rendered) -> Rendered {
        context.clone()
    }

    /// Creates a decoder for the events of a stream.
    fn decoder(&self) -> Box<dyn Decoder>;

    /// Returns a whole answer, which a server sent although a stream was requested, as the events
    /// of a stream. Empty if the text is not an answer of this wire.
    fn whole_answer(&self, json: &str) -> Vec<String> {
        let _ = json;
        Vec::new()
    }

    /// Renders a context.
    fn render(&self, messages: &[&Message]) -> Rendered;

    /// Checks a list of messages against the provider's rules.
    fn check(&self, messages: &[&str]) -> Vec<Violation>;
}

/// What users need to call a provider's own API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vendor {
    /// The environment variable that holds the key.
    pub key_variable: &'static str,
    /// The model that is used if nothing but the key is set. Of several formats of one provider,
    /// one has it.
    pub default_model: Option<&'static str>,
    /// If several keys are set, the one with the lowest rank is used.
    pub rank: u8,
}

/// Names that only one wire uses, by which a conversation's wire is detected.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// Fields of a request body.
    pub body: &'static [&'static str],
    /// Fields of a message.
    pub message: &'static [&'static str],
    /// Types of the blocks in a message's content.
    pub blocks: &'static [&'static str],
    /// Whether messages have a `type` other than `message`.
    pub typed_messages: bool,
}
