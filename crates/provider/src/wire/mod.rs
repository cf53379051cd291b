//! Wire formats: vendor JSON to neutral messages and back. One directory per protocol, with the
//! same files in each: `parse`, `render`, `check`, `stream`. All implement [`Format`]; `list.rs`
//! lists them.
//!
//! A message that is sent unchanged to the wire it came from keeps its original bytes.

mod anthropic;
mod conversation;
mod detect;
mod error;
mod findings;
mod foreign;
mod format;
mod gemini;
mod list;
mod openai_chat;
mod openai_responses;
mod options;
mod read;
mod rendered;

pub use conversation::{Conversation, body, message, parse, parse_stored, tools};
pub use error::ParseError;
pub use format::{Format, Marks, Vendor};
pub use list::{UnknownWire, all, named, of_model, register, vendors};
pub use options::{Options, Shape};
pub use read::{Reader, Refusal};
pub use rendered::{Json, Rendered};
pub use waterline::Tool;

/// JSON as a [`Format`] reads and writes it: the fields of an object keep their order and their
/// bytes, so that a message that is sent back unchanged stays the same text.
pub mod json {
    #[doc(inline)]
    pub use waterline::json::{
        Fields, LossyString, array, elements, is_null, object, quote, string,
    };
}

use std::sync::Arc;

use waterline::message::{Message, Role, Wire};
use waterline::validity::Violation;

use crate::answer::Decoder;
use list::format;

/// Returns the provider's own address.
pub fn default_base(wire: Wire) -> &'static str {
    format(wire).default_base()
}

/// Returns the path of a call. The version is omitted if the base address ends with it.
pub(crate) fn path(wire: Wire, base: &str, model: &str) -> String {
    let path = format(wire).path(model);
    let version = path.split('/').nth(1).unwrap_or_default();
    let base_has_version = version.starts_with('v') && base.ends_with(&format!("/{version}"));
    if base_has_version {
        path.trim_start_matches('/').trim_start_matches(version).to_owned()
    } else {
        path
    }
}

/// Returns the headers of a call.
pub(crate) fn headers(wire: Wire, key: Option<&str>) -> Vec<(&'static str, String)> {
    format(wire).headers(key)
}

/// Builds the body of a call. A field of `options.extra` replaces a setting of the same name, but
/// not the context or the tools.
pub(crate) fn request(
    wire: Wire,
    model: &str,
    options: &Options,
    tools: &[Tool],
    context: &Rendered,
) -> String {
    let format = format(wire);
    let is_reserved = |name: &str| {
        name == "tools" || name == format.list_field() || format.system_fields().contains(&name)
    };
    let extra: Vec<(&str, String)> = options
        .extra
        .iter()
        .map(|(name, json)| (name.as_str(), json.clone()))
        .filter(|(name, _)| !is_reserved(name))
        .collect();
    let settings = format
        .settings(model, options)
        .into_iter()
        .filter(|(name, _)| !extra.iter().any(|(other, _)| other == name));
    let fields: Vec<(&str, String)> = settings.chain(extra.iter().cloned()).collect();
    body(wire, fields, tools, &format.marked(context))
}

/// Returns the name of a wire's provider in OpenTelemetry's conventions for generative AI.
#[must_use]
pub fn provider(wire: Wire) -> &'static str {
    format(wire).provider()
}

/// Returns what users need to call the provider of a wire, if it has an API of its own.
#[must_use]
pub fn vendor(wire: Wire) -> Option<Vendor> {
    format(wire).vendor()
}

/// Returns whether a request must have an output token limit.
#[must_use]
pub fn requires_limit(wire: Wire) -> bool {
    format(wire).required_limit().is_some()
}

/// Whether a request can set the shape of the answer.
pub(crate) fn has_shape(wire: Wire) -> bool {
    format(wire).has_shape()
}

/// Creates a decoder for the streams of a wire.
#[must_use]
pub fn decoder(wire: Wire) -> Box<dyn Decoder> {
    format(wire).decoder()
}

/// Returns a whole answer as the events of a stream; empty if the text is not an answer of the
/// wire.
#[must_use]
pub fn whole_answer(wire: Wire, json: &str) -> Vec<String> {
    format(wire).whole_answer(json)
}

/// Parses the JSON of an answer into its one message; empty if nothing arrived.
fn answered(wire: Wire, json: String) -> Vec<Message> {
    let message = parse_stored(Arc::new(json), wire, Role::Assistant);
    message.into_iter().filter(|message| !message.parts.is_empty()).collect()
}

/// Renders a context for a wire.
#[must_use]
pub fn render(wire: Wire, messages: &[&Message]) -> Rendered {
    if !messages.iter().any(|message| foreign::needs_translation(wire, message)) {
        return format(wire).render(messages);
    }
    let translated: Vec<_> =
        messages.iter().map(|message| foreign::translate(wire, message)).collect();
    let native: Vec<&Message> = translated.iter().map(AsRef::as_ref).collect();
    format(wire).render(&native)
}

/// Checks a list of messages, each as JSON text, against the rules of a wire.
#[must_use]
pub fn check(wire: Wire, messages: &[&str]) -> Vec<Violation> {
    format(wire).check(messages)
}
