//! OpenAI Chat Completions and compatible servers.

mod check;
mod parse;
mod render;
mod stream;
mod whole;

use waterline::json::{self, Fields};
use waterline::message::{Message, Role, Wire};
use waterline::model::Models;
use waterline::validity::Violation;

use super::Tool;
use super::format::{Format, Marks, Vendor};
use super::options::{Options, Shape, bearer, schema_fields, shape_kind};
use super::read::{Reader, Refusal};
use super::rendered::Rendered;
use crate::answer::Decoder;

pub(super) struct OpenaiChat;

impl Format for OpenaiChat {
    fn wire(&self) -> Wire {
        Wire::OPENAI_CHAT
    }

    fn marks(&self) -> Marks {
        Marks {
            message: &["tool_calls", "tool_call_id"],
            blocks: &["image_url", "input_audio"],
            ..Marks::default()
        }
    }

    fn list_field(&self) -> &'static str {
        "messages"
    }

    fn message(&self, json: &str, reader: &mut Reader) -> Result<Message, Refusal> {
        parse::message(json, reader)
    }

    fn tools(&self, entry: &Fields<'_>) -> Vec<Tool> {
        let Some(function) = entry.get("function").and_then(Fields::parse) else {
            return Vec::new();
        };
        let string_field =
            |name: &str| function.get(name).and_then(json::string).map(|lossy| lossy.text);
        let schema = function.get("parameters").map(str::to_owned);
        vec![Tool {
            name: string_field("name").unwrap_or_default(),
            description: string_field("description"),
            schema,
        }]
    }

    fn write_tools(&self, tools: &[Tool]) -> String {
        json::array(tools.iter().map(Tool::definition))
    }

    fn default_base(&self) -> &'static str {
        "https://api.openai.com/v1"
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(Vendor { key_variable: "OPENAI_API_KEY", default_model: Some("gpt-5.6"), rank: 1 })
    }

    fn provider(&self) -> &'static str {
        "openai"
    }

    fn path(&self, _: &str) -> String {
        "/v1/chat/completions".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        bearer(key)
    }

    fn settings(&self, model: &str, options: &Options) -> Vec<(&'static str, String)> {
        let fields = [
            Some(("model", json::quote(model))),
            Some(("stream", "true".to_owned())),
            Some(("stream_options", r#"{"include_usage":true}"#.to_owned())),
            options.max_tokens.map(|limit| (limit_field(model, options), limit.to_string())),
            options.temperature.map(|value| ("temperature", value.to_string())),
            options.cache_key.as_ref().map(|key| ("prompt_cache_key", json::quote(key))),
            options.shape.as_ref().map(|shape| ("response_format", response_format(shape))),
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

/// Returns the role with a name.
fn role(name: &str) -> Option<Role> {
    match name {
        "system" | "developer" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        "tool" | "function" => Some(Role::Tool),
        _ => None,
    }
}

/// OpenAI's newer models reject the old name; other servers know only the old one.
fn limit_field(model: &str, options: &Options) -> &'static str {
    let is_newer = options.max_completion_tokens.unwrap_or_else(|| {
        Models::builtin().find(model).is_some_and(|model| model.max_completion_tokens)
    });
    if is_newer { "max_completion_tokens" } else { "max_tokens" }
}

/// Renders a shape, with its schema in a nested object.
fn response_format(shape: &Shape) -> String {
    let kind = ("type", shape_kind(shape).to_owned());
    let fields = schema_fields(shape);
    let schema = (!fields.is_empty()).then(|| ("json_schema", json::object(fields)));
    json::object([kind].into_iter().chain(schema))
}
