//! Decodes Anthropic's stream: blocks that start, grow and end.

use waterline::json::{self, Fields};
use waterline::message::Wire;

use crate::answer::{Answer, Decoder, Delta, Failure, Stop, Usage};
use crate::wire::answered;
use crate::wire::read::{number, string_field};

#[derive(Default)]
pub(super) struct Stream {
    blocks: Vec<Block>,
    answer: Answer,
}

/// A block that is still streaming.
struct Block {
    index: usize,
    kind: String,
    /// The fields of its start event.
    start: Vec<(String, String)>,
    /// Its text, its thinking, or the JSON of its input.
    text: String,
    signature: String,
    citations: Vec<String>,
}

impl Decoder for Stream {
    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let fields = Fields::parse(data).unwrap_or_default();
        match string_field(&fields, "type").as_str() {
            "message_start" => self.start(&fields),
            "content_block_start" => self.start_block(&fields, emit),
            "content_block_delta" => self.grow(&fields, emit),
            "message_delta" => {
                let delta = fields.get("delta").and_then(Fields::parse).unwrap_or_default();
                self.answer.stop = stop(&string_field(&delta, "stop_reason"));
                self.count(&fields);
            }
            "error" => return Err(Failure(data.to_owned())),
            _ => {}
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Answer {
        let content = json::array(self.blocks.iter().filter_map(Block::json));
        let json = json::object([("role", json::quote("assistant")), ("content", content)]);
        Answer { messages: answered(Wire::ANTHROPIC, json), ..self.answer }
    }
}

impl Stream {
    fn start(&mut self, fields: &Fields<'_>) {
        let message = fields.get("message").and_then(Fields::parse).unwrap_or_default();
        self.answer.model = Some(string_field(&message, "model")).filter(|name| !name.is_empty());
        self.count(&message);
    }

    /// Later reports win: the prompt tokens may be reported only at the end.
    fn count(&mut self, fields: &Fields<'_>) {
        let Some(usage) = fields.get("usage").and_then(Fields::parse) else { return };
        let known = self.answer.usage;
        let of = |name: &str, known: usize| number(&usage, name).unwrap_or(known);
        self.answer.usage = Usage {
            input: of("input_tokens", known.input),
            cache_read: of("cache_read_input_tokens", known.cache_read),
            cache_write: of("cache_creation_input_tokens", known.cache_write),
            output: of("output_tokens", known.output),
        };
    }

    fn start_block(&mut self, fields: &Fields<'_>, emit: &mut dyn FnMut(Delta)) {
        let block = fields.get("content_block").and_then(Fields::parse).unwrap_or_default();
        let kind = string_field(&block, "type");
        let index = number(fields, "index").unwrap_or(self.blocks.len());
        let text = match kind.as_str() {
            "text" => string_field(&block, "text"),
            "thinking" => string_field(&block, "thinking"),
            _ => String::new(),
        };
        if kind == "tool_use" {
            let at = self.blocks.iter().filter(|block| block.kind == "tool_use").count();
            emit(Delta::Call {
                at,
                id: string_field(&block, "id"),
                name: string_field(&block, "name"),
            });
        }
        let start = block.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        self.blocks.push(Block {
            index,
            kind,
            start,
            text,
            signature: String::new(),
            citations: Vec::new(),
        });
    }

    fn grow(&mut self, fields: &Fields<'_>, emit: &mut dyn FnMut(Delta)) {
        let delta = fields.get("delta").and_then(Fields::parse).unwrap_or_default();
        let index = number(fields, "index");
        let Some(at) = self.blocks.iter().rposition(|block| Some(block.index) == index) else {
            return;
        };
        let call = self.blocks.iter().take(at).filter(|block| block.kind == "tool_use").count();
        let Some(block) = self.blocks.get_mut(at) else { return };
        match string_field(&delta, "type").as_str() {
            "text_delta" => emit(Delta::Text(block.add(string_field(&delta, "text")))),
            "thinking_delta" => emit(Delta::Thinking(block.add(string_field(&delta, "thinking")))),
            "input_json_delta" => {
                let json = block.add(string_field(&delta, "partial_json"));
                if block.kind == "tool_use" && !json.is_empty() {
                    emit(Delta::Arguments { at: call, json });
                }
            }
            "signature_delta" => block.signature.push_str(&string_field(&delta, "signature")),
            "citations_delta" => block.citations.extend(delta.get("citation").map(str::to_owned)),
            _ => {}
        }
    }
}

impl Block {
    fn add(&mut self, more: String) -> String {
        self.text.push_str(&more);
        more
    }

    /// Renders the block; `None` if it is empty, or a call with incomplete arguments.
    fn json(&self) -> Option<String> {
        let mut fields: Vec<(&str, String)> =
            self.start.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let mut set = |name: &'static str, value: String| match fields
            .iter_mut()
            .find(|(known, _)| *known == name)
        {
            Some((_, known)) => *known = value,
            None => fields.push((name, value)),
        };
        match self.kind.as_str() {
            "text" if self.text.is_empty() => return None,
            "text" => set("text", json::quote(&self.text)),
            "thinking" => {
                set("thinking", json::quote(&self.text));
                if !self.signature.is_empty() {
                    set("signature", json::quote(&self.signature));
                }
            }
            _ if !self.text.is_empty() => {
                set("input", Some(self.text.clone()).filter(|text| json::is_object(text))?)
            }
            _ => {}
        }
        if !self.citations.is_empty() {
            set("citations", json::array(&self.citations));
        }
        Some(json::object(fields))
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "end_turn" | "stop_sequence" => Stop::End,
        "tool_use" => Stop::Calls,
        "max_tokens" => Stop::Length,
        "model_context_window_exceeded" => Stop::Window,
        "refusal" => Stop::Refused,
        "pause_turn" => Stop::Paused,
        other => Stop::Other(other.to_owned()),
    }
}
