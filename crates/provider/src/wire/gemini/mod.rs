//! Gemini `generateContent`.

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
use super::options::{Options, Shape};
use super::read::{Reader, Refusal};
use super::rendered::Rendered;
use crate::answer::Decoder;

pub(super) struct Gemini;

impl Format for Gemini {
    fn wire(&self) -> Wire {
        Wire::GEMINI
    }

    fn marks(&self) -> Marks {
        Marks { body: &["contents"], message: &["parts"], ..Marks::default() }
    }

    fn takes_assistant_images(&self) -> bool {
        true
    }

    fn model_prefixes(&self) -> &'static [&'static str] {
        &["gemini"]
    }

    fn list_field(&self) -> &'static str {
        "contents"
    }

    fn system_fields(&self) -> &'static [&'static str] {
        &["systemInstruction", "system_instruction"]
    }

    fn message(&self, json: &str, reader: &mut Reader) -> Result<Message, Refusal> {
        parse::content(json, reader)
    }

    fn system(&self, json: &str, reader: &mut Reader) -> Option<Message> {
        parse::system(json, reader)
    }

    fn tools(&self, entry: &Fields<'_>) -> Vec<Tool> {
        let declared =
            entry.get("functionDeclarations").or_else(|| entry.get("function_declarations"));
        let list = declared.and_then(json::elements).unwrap_or_default();
        let tools = list.into_iter().filter_map(|json| {
            let fields = Fields::parse(json)?;
            let string_field =
                |name: &str| fields.get(name).and_then(json::string).map(|lossy| lossy.text);
            let schema = fields
                .get("parameters")
                .or_else(|| fields.get("parametersJsonSchema"))
                .map(str::to_owned);
            Some(Tool {
                name: string_field("name")?,
                description: string_field("description"),
                schema,
            })
        });
        tools.collect()
    }

    fn write_tools(&self, tools: &[Tool]) -> String {
        let declared = json::array(tools.iter().map(|tool| {
            let fields = [
                Some(("name", json::quote(&tool.name))),
                tool.description.as_ref().map(|text| ("description", json::quote(text))),
                tool.schema.clone().map(|schema| ("parametersJsonSchema", schema)),
            ];
            json::object(fields.into_iter().flatten())
        }));
        json::array([json::object([("functionDeclarations", declared)])])
    }

    fn default_base(&self) -> &'static str {
        "https://generativelanguage.googleapis.com"
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(Vendor {
            key_variable: "GEMINI_API_KEY",
            default_model: Some("gemini-2.5-pro"),
            rank: 2,
        })
    }

    fn provider(&self) -> &'static str {
        "gcp.gemini"
    }

    fn path(&self, model: &str) -> String {
        format!(
            "/v1beta/models/{}:streamGenerateContent?alt=sse",
            model.trim_start_matches("models/")
        )
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect()
    }

    fn settings(&self, _: &str, options: &Options) -> Vec<(&'static str, String)> {
        let fields = [
            options.max_tokens.map(|limit| ("maxOutputTokens", limit.to_string())),
            options.temperature.map(|value| ("temperature", value.to_string())),
            options.shape.as_ref().map(|_| ("responseMimeType", json::quote("application/json"))),
            options
                .shape
                .as_ref()
                .and_then(Shape::schema)
                .map(|schema| ("responseJsonSchema", schema.to_owned())),
        ];
        let fields: Vec<_> = fields.into_iter().flatten().collect();
        if fields.is_empty() {
            Vec::new()
        } else {
            vec![("generationConfig", json::object(fields))]
        }
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
