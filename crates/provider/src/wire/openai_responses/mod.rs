//! OpenAI Responses.

mod check;
mod parse;
mod render;
mod stream;
mod whole;

use waterline::json::{self, Fields};
use waterline::message::{Message, Wire};
use waterline::validity::Violation;

use super::Tool;
use super::format::{Format, Marks, Vendor};
use super::options::{Options, Shape, bearer, schema_fields, shape_kind};
use super::read::{Reader, Refusal};
use super::rendered::Rendered;
use crate::answer::Decoder;

pub(super) struct OpenaiResponses;

impl Format for OpenaiResponses {
    fn wire(&self) -> Wire {
        Wire::OPENAI_RESPONSES
    }

    fn marks(&self) -> Marks {
        Marks {
            blocks: &["input_text", "output_text", "input_image"],
            typed_messages: true,
            ..Marks::default()
        }
    }

    fn takes_text_for_list(&self) -> bool {
        true
    }

    fn list_field(&self) -> &'static str {
        "input"
    }

    fn system_fields(&self) -> &'static [&'static str] {
        &["instructions"]
    }

    fn message(&self, json: &str, reader: &mut Reader) -> Result<Message, Refusal> {
        parse::item(json, reader)
    }

    fn system(&self, json: &str, reader: &mut Reader) -> Option<Message> {
        parse::system(json, reader)
    }

    fn tools(&self, entry: &Fields<'_>) -> Vec<Tool> {
        let string_field =
            |name: &str| entry.get(name).and_then(json::string).map(|lossy| lossy.text);
        let schema = entry.get("parameters").map(str::to_owned);
        let name = string_field("name").or_else(|| string_field("type")).unwrap_or_default();
        vec![Tool { name, description: string_field("description"), schema }]
    }

    fn write_tools(&self, tools: &[Tool]) -> String {
        json::array(tools.iter().map(|tool| {
            let fields = [
                Some(("type", json::quote("function"))),
                Some(("name", json::quote(&tool.name))),
                tool.description.as_ref().map(|text| ("description", json::quote(text))),
                tool.schema.clone().map(|schema| ("parameters", schema)),
            ];
            json::object(fields.into_iter().flatten())
        }))
    }

    fn default_base(&self) -> &'static str {
        "https://api.openai.com/v1"
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(Vendor { key_variable: "OPENAI_API_KEY", default_model: None, rank: 1 })
    }

    fn provider(&self) -> &'static str {
        "openai"
    }

    fn path(&self, _: &str) -> String {
        "/v1/responses".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        bearer(key)
    }

    fn settings(&self, model: &str, options: &Options) -> Vec<(&'static str, String)> {
        let fields = [
            Some(("model", json::quote(model))),
            Some(("stream", "true".to_owned())),
            // The log keeps the conversation, so the provider need not.
            Some(("store", "false".to_owned())),
            Some(("include", r#"["reasoning.encrypted_content"]"#.to_owned())),
            options.max_tokens.map(|limit| ("max_output_tokens", limit.to_string())),
            options.temperature.map(|value| ("temperature", value.to_string())),
            options.cache_key.as_ref().map(|key| ("prompt_cache_key", json::quote(key))),
            options
                .shape
                .as_ref()
                .map(|shape| ("text", json::object([("format", text_format(shape))]))),
        ];
        fields.into_iter().flatten().collect()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<stream::Stream>::default()
    }

    fn whole_answer(&self, json: &str) -> Vec<String> {
        whole::events(json)
    }

    fn render(&self, messages: &[&Message]) -> Rendered {
        render::render(messages)
    }

    fn check(&self, messages: &[&str]) -> Vec<Violation> {
        check::check(messages)
    }
}

/// Renders a shape, with the fields of its schema next to its type.
fn text_format(shape: &Shape) -> String {
    let kind = ("type", shape_kind(shape).to_owned());
    json::object([kind].into_iter().chain(schema_fields(shape)))
}

/// Whether an item is a call that expects an output: function and custom calls, and every other
/// call with a call id (computer, shell, patch).
fn is_call(kind: &str, fields: &Fields<'_>) -> bool {
    matches!(kind, "function_call" | "custom_tool_call")
        || kind.ends_with("_call") && fields.get("call_id").is_some()
}

/// Whether an item is the output of a call.
fn is_output(kind: &str, fields: &Fields<'_>) -> bool {
    let call = kind.strip_suffix("_output").unwrap_or_default();
    is_call(call, fields)
}
