//! Decodes the chat stream: chunks of one message.

use waterline::json::{self, Fields};
use waterline::message::Wire;

use crate::answer::{Answer, Decoder, Delta, Failure, Stop, Usage};
use crate::wire::answered;
use crate::wire::read::{number, string_field};

#[derive(Default)]
pub(super) struct Stream {
    text: String,
    thinking: String,
    refusal: String,
    calls: Vec<Call>,
    answer: Answer,
}

/// A call that is still streaming.
struct Call {
    index: usize,
    id: String,
    name: String,
    arguments: String,
}

impl Decoder for Stream {
    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let Some(fields) = Fields::parse(data) else { return Ok(()) };
        if fields.get("error").is_some_and(|error| !json::is_null(error)) {
            return Err(Failure(data.to_owned()));
        }
        if let Some(name) = Some(string_field(&fields, "model")).filter(|name| !name.is_empty()) {
            self.answer.model = Some(name);
        }
        self.count(&fields);
        let choices = fields.get("choices").and_then(json::elements).unwrap_or_default();
        let first = choices
            .into_iter()
            .filter_map(Fields::parse)
            .find(|choice| number(choice, "index").unwrap_or(0) == 0);
        let Some(choice) = first else { return Ok(()) };
        if let Some(error) = choice.get("error").filter(|error| !json::is_null(error)) {
            return Err(Failure(json::object([("error", error)])));
        }
        let delta = choice.get("delta").and_then(Fields::parse).unwrap_or_default();
        self.grow(&delta, emit);
        let reason = string_field(&choice, "finish_reason");
        match reason.as_str() {
            "" => {}
            // OpenRouter, if the provider that it uses fails in the middle of an answer.
            "error" => return Err(Failure(data.to_owned())),
            reason => self.answer.stop = stop(reason),
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Answer {
        // A model that refuses to fill a shape says so in a separate field and stops normally.
        if !self.refusal.is_empty() && self.answer.stop == Stop::End {
            self.answer.stop = Stop::Refused;
        }
        Answer { messages: answered(Wire::OPENAI_CHAT, self.json()), ..self.answer }
    }
}

impl Stream {
    fn count(&mut self, fields: &Fields<'_>) {
        let Some(usage) = fields.get("usage").and_then(Fields::parse) else { return };
        let details =
            usage.get("prompt_tokens_details").and_then(Fields::parse).unwrap_or_default();
        // DeepSeek uses another name.
        let cached =
            number(&details, "cached_tokens").or_else(|| number(&usage, "prompt_cache_hit_tokens"));
        let prompt = number(&usage, "prompt_tokens").unwrap_or_default();
        let cache_read = cached.unwrap_or_default().min(prompt);
        let output = number(&usage, "completion_tokens").unwrap_or_default();
        self.answer.usage =
            Usage { input: prompt - cache_read, cache_read, cache_write: 0, output };
    }

    fn grow(&mut self, delta: &Fields<'_>, emit: &mut dyn FnMut(Delta)) {
        let mut thought = string_field(delta, "reasoning_content");
        if thought.is_empty() {
            thought = string_field(delta, "reasoning");
        }
        if !thought.is_empty() {
            self.thinking.push_str(&thought);
            emit(Delta::Thinking(thought));
        }
        let text = string_field(delta, "content");
        if !text.is_empty() {
            self.text.push_str(&text);
            emit(Delta::Text(text));
        }
        self.refusal.push_str(&string_field(delta, "refusal"));
        for call in delta.get("tool_calls").and_then(json::elements).unwrap_or_default() {
            if let Some(call) = Fields::parse(call) {
                self.grow_call(&call, emit);
            }
        }
    }

    fn grow_call(&mut self, delta: &Fields<'_>, emit: &mut dyn FnMut(Delta)) {
        let function = delta.get("function").and_then(Fields::parse).unwrap_or_default();
        let id = string_field(delta, "id");
        let name = string_field(&function, "name");
        let json = string_field(&function, "arguments");
        // Some servers send no index, but a new id for each call.
        let is_new = |call: &Call| !id.is_empty() && call.id != id;
        let index = number(delta, "index").unwrap_or_else(|| match self.calls.last() {
            Some(last) if is_new(last) => last.index + 1,
            Some(last) => last.index,
            None => 0,
        });
        let at = match self.calls.iter().position(|call| call.index == index) {
            Some(at) => at,
            None => {
                emit(Delta::Call { at: self.calls.len(), id: id.clone(), name: name.clone() });
                self.calls.push(Call { index, id, name, arguments: String::new() });
                self.calls.len() - 1
            }
        };
        if let Some(call) = self.calls.get_mut(at).filter(|_| !json.is_empty()) {
            call.arguments.push_str(&json);
            emit(Delta::Arguments { at, json });
        }
    }

    /// Renders the message. A call with incomplete arguments is dropped.
    fn json(&self) -> String {
        let is_interrupted = self.answer.stop == Stop::Interrupted;
        let is_complete = |call: &&Call| !is_interrupted || json::is_object(&call.arguments);
        let calls: Vec<String> = self.calls.iter().filter(is_complete).map(Call::json).collect();
        let content =
            if self.text.is_empty() { "null".to_owned() } else { json::quote(&self.text) };
        let fields = [
            Some(("role", json::quote("assistant"))),
            Some(("content", content))
                .filter(|_| !self.text.is_empty() || !calls.is_empty() || !self.refusal.is_empty()),
            (!self.thinking.is_empty()).then(|| ("reasoning_content", json::quote(&self.thinking))),
            (!self.refusal.is_empty()).then(|| ("refusal", json::quote(&self.refusal))),
            (!calls.is_empty()).then(|| ("tool_calls", json::array(&calls))),
        ];
        json::object(fields.into_iter().flatten())
    }
}

impl Call {
    fn json(&self) -> String {
        let function =
            [("name", json::quote(&self.name)), ("arguments", json::quote(&self.arguments))];
        json::object([
            ("id", json::quote(&self.id)),
            ("type", json::quote("function")),
            ("function", json::object(function)),
        ])
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "stop" => Stop::End,
        "tool_calls" | "function_call" => Stop::Calls,
        "length" => Stop::Length,
        "content_filter" => Stop::Refused,
        "model_context_window_exceeded" => Stop::Window,
        other => Stop::Other(other.to_owned()),
    }
}
