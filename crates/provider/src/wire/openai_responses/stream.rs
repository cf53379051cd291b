//! Decodes the Responses stream: items that are added, grow and are done.

use std::sync::Arc;

use waterline::json::{self, Fields};
use waterline::message::{Message, Raw, Role, Wire};

use crate::answer::{Answer, Decoder, Delta, Failure, Stop, Usage};
use crate::wire::read::{Reader, number, string_field};

#[derive(Default)]
pub(super) struct Stream {
    items: Vec<Item>,
    /// The model refused to answer.
    refused: bool,
    answer: Answer,
}

/// An item that is still streaming.
struct Item {
    index: usize,
    kind: String,
    /// Its JSON, once it is done.
    done: Option<String>,
    /// Its text so far.
    text: String,
}

impl Decoder for Stream {
    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let fields = Fields::parse(data).unwrap_or_default();
        let kind = string_field(&fields, "type");
        match kind.as_str() {
            "response.output_item.added" => self.add(&fields, emit),
            "response.output_item.done" => self.done(&fields),
            "response.output_text.delta" => {
                let text = self.grow(&fields);
                emit(Delta::Text(text));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                emit(Delta::Thinking(string_field(&fields, "delta")));
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                let at = self.call_at(number(&fields, "output_index"));
                emit(Delta::Arguments { at, json: string_field(&fields, "delta") });
            }
            "response.refusal.done" => self.refused = true,
            "response.completed" | "response.incomplete" => self.end(&fields, &kind),
            "response.failed" | "error" => return Err(Failure(failure(&fields, data))),
            _ => {}
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Answer {
        Answer { messages: self.items.iter().filter_map(Item::message).collect(), ..self.answer }
    }
}

impl Stream {
    fn add(&mut self, fields: &Fields<'_>, emit: &mut dyn FnMut(Delta)) {
        let item = fields.get("item").and_then(Fields::parse).unwrap_or_default();
        let index = number(fields, "output_index").unwrap_or(self.items.len());
        let kind = string_field(&item, "type");
        if is_call(&kind) {
            let at = self.items.iter().filter(|item| is_call(&item.kind)).count();
            emit(Delta::Call {
                at,
                id: string_field(&item, "call_id"),
                name: string_field(&item, "name"),
            });
        }
        self.items.push(Item { index, kind, done: None, text: String::new() });
    }

    fn done(&mut self, fields: &Fields<'_>) {
        let Some(json) = fields.get("item") else { return };
        let index = number(fields, "output_index").unwrap_or(self.items.len());
        match self.items.iter_mut().find(|item| item.index == index) {
            Some(item) => item.done = Some(json.to_owned()),
            None => {
                let kind =
                    Fields::parse(json).map(|item| string_field(&item, "type")).unwrap_or_default();
                self.items.push(Item {
                    index,
                    kind,
                    done: Some(json.to_owned()),
                    text: String::new(),
                });
            }
        }
    }

    fn grow(&mut self, fields: &Fields<'_>) -> String {
        let index = number(fields, "output_index");
        let text = string_field(fields, "delta");
        if let Some(item) = self.items.iter_mut().find(|item| Some(item.index) == index) {
            item.text.push_str(&text);
        }
        text
    }

    fn call_at(&self, index: Option<usize>) -> usize {
        let before = self.items.iter().take_while(|item| Some(item.index) != index);
        before.filter(|item| is_call(&item.kind)).count()
    }

    fn end(&mut self, fields: &Fields<'_>, kind: &str) {
        let response = fields.get("response").and_then(Fields::parse).unwrap_or_default();
        self.answer.model = Some(string_field(&response, "model")).filter(|name| !name.is_empty());
        if let Some(usage) = response.get("usage").and_then(Fields::parse) {
            let details =
                usage.get("input_tokens_details").and_then(Fields::parse).unwrap_or_default();
            let prompt = number(&usage, "input_tokens").unwrap_or_default();
            let cache_read = number(&details, "cached_tokens").unwrap_or_default().min(prompt);
            let output = number(&usage, "output_tokens").unwrap_or_default();
            self.answer.usage =
                Usage { input: prompt - cache_read, cache_read, cache_write: 0, output };
        }
        let details =
            response.get("incomplete_details").and_then(Fields::parse).unwrap_or_default();
        let calls = self.items.iter().any(|item| is_call(&item.kind));
        self.answer.stop = match (kind, string_field(&details, "reason").as_str()) {
            ("response.completed", _) if calls => Stop::Calls,
            ("response.completed", _) if self.refused => Stop::Refused,
            ("response.completed", _) => Stop::End,
            (_, "max_output_tokens") => Stop::Length,
            (_, "content_filter") => Stop::Refused,
            (_, other) => Stop::Other(other.to_owned()),
        };
    }
}

impl Item {
    /// Converts the item to a message. An incomplete message keeps the text so far; an incomplete
    /// call is dropped.
    fn message(&self) -> Option<Message> {
        let json = self.done.clone().or_else(|| {
            let part = json::object([
                ("type", json::quote("output_text")),
                ("text", json::quote(&self.text)),
            ]);
            let fields = [
                ("type", json::quote("message")),
                ("role", json::quote("assistant")),
                ("content", json::array([part])),
            ];
            (self.kind == "message" && !self.text.is_empty()).then(|| json::object(fields))
        })?;
        let item = super::parse::item(&json, &mut Reader::default()).ok();
        let mut message = item.filter(|message| message.role == Role::Assistant)?;
        let length = json.len();
        message.raw = Raw::new(Wire::OPENAI_RESPONSES, Arc::new(json), 0..length);
        Some(message)
    }
}

fn is_call(kind: &str) -> bool {
    matches!(kind, "function_call" | "custom_tool_call")
}

/// Extracts the error inside a failed response.
fn failure(fields: &Fields<'_>, data: &str) -> String {
    let response = fields.get("response").and_then(Fields::parse);
    let error = response.as_ref().and_then(|response| response.get("error"));
    error.map_or_else(|| data.to_owned(), |error| json::object([("error", error)]))
}
