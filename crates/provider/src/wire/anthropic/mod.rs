//! Anthropic Messages.

mod check;
mod mark;
mod parse;
mod render;
mod stream;
mod whole;

use waterline::json::{self, Fields};
use waterline::message::{Message, Wire};
use waterline::validity::Violation;

use super::Tool;
use super::format::{Format, Marks, Vendor};
use super::options::Options;
use super::read::{Reader, Refusal};
use super::rendered::Rendered;
use crate::answer::Decoder;

/// The limit for a caller that sets none: this wire requires one.
const ASSUMED_LIMIT: usize = 8_192;

pub(super) struct Anthropic;

impl Format for Anthropic {
    fn wire(&self) -> Wire {
        Wire::ANTHROPIC
    }

    fn marks(&self) -> Marks {
        Marks {
            body: &["system", "anthropic_version"],
            blocks: &[
                "tool_use",
                "tool_result",
                "thinking",
                "redacted_thinking",
                "image",
                "document",
            ],
            ..Marks::default()
        }
    }

    fn required_limit(&self) -> Option<&'static str> {
        Some("max_tokens")
    }

    fn model_prefixes(&self) -> &'static [&'static str] {
        &["claude"]
    }

    fn list_field(&self) -> &'static str {
        "messages"
    }

    fn system_fields(&self) -> &'static [&'static str] {
        &["system"]
    }

    fn message(&self, json: &str, reader: &mut Reader) -> Result<Message, Refusal> {
        parse::message(json, reader)
    }

    fn system(&self, json: &str, reader: &mut Reader) -> Option<Message> {
        parse::system(json, reader)
    }

    fn tools(&self, entry: &Fields<'_>) -> Vec<Tool> {
        let string_field =
            |name: &str| entry.get(name).and_then(json::string).map(|lossy| lossy.text);
        let schema = entry.get("input_schema").map(str::to_owned);
        vec![Tool {
            name: string_field("name").unwrap_or_default(),
            description: string_field("description"),
            schema,
        }]
    }

    fn write_tools(&self, tools: &[Tool]) -> String {
        json::array(tools.iter().map(|tool| {
            let fields = [
                Some(("name", json::quote(&tool.name))),
                tool.description.as_ref().map(|text| ("description", json::quote(text))),
                Some((
                    "input_schema",
                    tool.schema.clone().unwrap_or_else(|| r#"{"type":"object"}"#.to_owned()),
                )),
            ];
            json::object(fields.into_iter().flatten())
        }))
    }

    fn default_base(&self) -> &'static str {
        "https://api.anthropic.com"
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(Vendor {
            key_variable: "ANTHROPIC_API_KEY",
            default_model: Some("claude-sonnet-5"),
            rank: 0,
        })
    }

    fn provider(&self) -> &'static str {
        "anthropic"
    }

    fn has_shape(&self) -> bool {
        false
    }

    fn path(&self, _: &str) -> String {
        "/v1/messages".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| ("x-api-key", key.to_owned()));
        [("anthropic-version", "2023-06-01".to_owned())].into_iter().chain(key).collect()
    }

    fn settings(&self, model: &str, options: &Options) -> Vec<(&'static str, String)> {
        let limit = options.max_tokens.unwrap_or(ASSUMED_LIMIT).to_string();
        let temperature = options.temperature.map(|value| ("temperature", value.to_string()));
        let fields =
            [("model", json::quote(model)), ("max_tokens", limit), ("stream", "true".to_owned())];
        fields.into_iter().chain(temperature).collect()
    }

    fn marked(&self, context: &Rendered) -> Rendered {
        mark::mark(context)
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

/// Whether a block is a compaction made by the provider, which may come first.
fn is_compaction(block: &str) -> bool {
    Fields::parse(block).is_some_and(|fields| super::read::kind(&fields) == "compaction")
}
