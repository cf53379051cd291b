//! Encodes a model's answer as the event stream of each of the four wires.

use serde_json::{Value, json};
use waterline::message::Wire;

/// A model's answer.
#[derive(Clone, Debug, Default)]
pub struct Spoken {
    /// What the model says besides its calls.
    pub text: String,
    /// The tool calls: id, tool, arguments.
    pub calls: Vec<(String, String, Value)>,
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Tokens of the prompt that were read from the cache.
    pub cached: usize,
}

impl Spoken {
    /// Creates an answer with a text, for a prompt of this many tokens.
    pub fn text(text: impl Into<String>, prompt: usize) -> Self {
        Self { text: text.into(), prompt, ..Self::default() }
    }

    /// Returns the data of the stream's events.
    #[must_use]
    pub fn events(&self, wire: Wire) -> Vec<String> {
        let events = match wire.name() {
            "openai-chat" => self.chat(),
            "openai-responses" => self.responses(),
            "anthropic" => self.anthropic(),
            _ => self.gemini(),
        };
        events.iter().map(Value::to_string).collect()
    }

    fn output(&self) -> usize {
        self.text.len() / 4 + self.calls.len() * 10 + 1
    }

    fn chat(&self) -> Vec<Value> {
        let chunk = |delta: Value, reason: Value| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
            json!({"model": "m", "choices": [choice]})
        };
        let calls = self.calls.iter().enumerate().map(|(index, (id, name, arguments))| {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            json!({"index": index, "id": id, "type": "function", "function": function})
        });
        let calls: Vec<Value> = calls.collect();
        let mut events =
            vec![chunk(json!({"role": "assistant", "content": self.text}), Value::Null)];
        events.extend(
            calls.into_iter().map(|call| chunk(json!({"tool_calls": [call]}), Value::Null)),
        );
        events.push(chunk(
            json!({}),
            json!(if self.calls.is_empty() { "stop" } else { "tool_calls" }),
        ));
        let usage = json!({
            "prompt_tokens": self.prompt,
            "completion_tokens": self.output(),
            "prompt_tokens_details": {"cached_tokens": self.cached},
        });
        events.push(json!({"choices": [], "usage": usage}));
        events
    }

    fn responses(&self) -> Vec<Value> {
        let mut events = vec![json!({"type": "response.created", "response": {"id": "r"}})];
        let mut items = Vec::new();
        if !self.text.is_empty() {
            let text = json!({"type": "output_text", "text": self.text, "annotations": []});
            items.push(json!({"type": "message", "role": "assistant", "content": [text]}));
        }
        items.extend(self.calls.iter().map(|(id, name, arguments)| {
            let arguments = arguments.to_string();
            json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
        }));
        for (at, item) in items.into_iter().enumerate() {
            events.push(
                json!({"type": "response.output_item.added", "output_index": at, "item": item}),
            );
            if at == 0 && !self.text.is_empty() {
                events.push(json!({
                    "type": "response.output_text.delta", "output_index": at, "delta": self.text,
                }));
            }
            events.push(
                json!({"type": "response.output_item.done", "output_index": at, "item": item}),
            );
        }
        let usage = json!({
            "input_tokens": self.prompt,
            "input_tokens_details": {"cached_tokens": self.cached},
            "output_tokens": self.output(),
        });
        let response = json!({"model": "m", "status": "completed", "usage": usage});
        events.push(json!({"type": "response.completed", "response": response}));
        events
    }

    fn anthropic(&self) -> Vec<Value> {
        let usage = json!({
            "input_tokens": self.prompt - self.cached,
            "cache_read_input_tokens": self.cached,
            "output_tokens": 1,
        });
        let mut events = vec![
            json!({"type": "message_start", "message": {"id": "m", "model": "m", "usage": usage}}),
        ];
        let mut index = 0;
        let mut block = |start: Value, delta: Value| {
            events.push(
                json!({"type": "content_block_start", "index": index, "content_block": start}),
            );
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            events.push(json!({"type": "content_block_stop", "index": index}));
            index += 1;
        };
        if !self.text.is_empty() {
            block(
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": self.text}),
            );
        }
        for (id, name, arguments) in &self.calls {
            let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            block(
                start,
                json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
            );
        }
        let reason = if self.calls.is_empty() { "end_turn" } else { "tool_use" };
        events.push(json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason},
            "usage": {"output_tokens": self.output()},
        }));
        events.push(json!({"type": "message_stop"}));
        events
    }

    fn gemini(&self) -> Vec<Value> {
        let mut parts = Vec::new();
        if !self.text.is_empty() {
            parts.push(json!({"text": self.text}));
        }
        parts.extend(self.calls.iter().map(|(id, name, arguments)| {
            json!({"functionCall": {"id": id, "name": name, "args": arguments}})
        }));
        let content = json!({"role": "model", "parts": parts});
        let usage = json!({
            "promptTokenCount": self.prompt,
            "cachedContentTokenCount": self.cached,
            "candidatesTokenCount": self.output(),
        });
        vec![json!({
            "candidates": [{"content": content, "finishReason": "STOP"}],
            "modelVersion": "m",
            "usageMetadata": usage,
        })]
    }
}
