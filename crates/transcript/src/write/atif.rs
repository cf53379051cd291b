//! Writes ATIF 1.8: one step per message, with the results of its calls inside the step. The format
//! forbids unknown fields; other data goes into `extra`.

use serde_json::{Map, Value, json};
use waterline::message::{Body, Image, Message, Part, Role, ToolResult};

use waterline_provider::wire::Tool;

use crate::transcript::{Entry, Transcript, Usage};

/// Returns the document of a transcript.
pub(super) fn write(transcript: &Transcript) -> Value {
    let mut steps: Vec<Value> = Vec::new();
    for entry in &transcript.entries {
        // Results belong to the step that made the call, whichever message carried them. Other
        // content of that message is a separate step.
        add_results(&mut steps, entry);
        if entry.message.parts.iter().any(|part| !matches!(part.body, Body::Result(_))) {
            steps.push(step(entry));
        }
    }
    // The format requires at least one step.
    if steps.is_empty() {
        steps.push(json!({"source": "system", "message": ""}));
    }
    for (at, step) in steps.iter_mut().enumerate() {
        step["step_id"] = json!(at + 1);
    }
    let tools: Vec<Value> = transcript.tools.iter().map(definition).collect();
    let mut agent = json!({"name": "unknown", "version": "unknown"});
    set(&mut agent, "model_name", transcript.model.as_ref().map(|model| json!(model)));
    set(&mut agent, "tool_definitions", (!tools.is_empty()).then_some(Value::Array(tools)));
    let mut document = json!({
        "schema_version": "ATIF-v1.8", "session_id": transcript.id,
        "trajectory_id": transcript.id, "agent": agent, "steps": steps,
    });
    let parent = transcript
        .parent
        .as_ref()
        .map(|parent| json!({"parent": parent, "role": transcript.role.name()}));
    set(&mut document, "extra", parent);
    document
}

fn definition(tool: &Tool) -> Value {
    let mut function = json!({"name": tool.name});
    set(&mut function, "description", tool.description.as_ref().map(|text| json!(text)));
    set(
        &mut function,
        "parameters",
        tool.schema.as_ref().and_then(|json| serde_json::from_str(json).ok()),
    );
    json!({"type": "function", "function": function})
}

fn set(object: &mut Value, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        object[name] = value;
    }
}

fn step(entry: &Entry) -> Value {
    let message = &entry.message;
    if entry.is_summary {
        let content = message.text();
        let observation = json!({"results": [{"content": content}]});
        let extra = json!({"context_management": {"type": "compaction", "boundary": "replace"}});
        return timed(
            json!({"source": "system", "message": "", "observation": observation, "extra": extra}),
            entry,
        );
    }
    let source = match message.role {
        Role::System => "system",
        Role::Assistant => "agent",
        Role::User | Role::Tool => "user",
    };
    let mut step = json!({"source": source, "message": content(&message.parts)});
    if message.role == Role::Assistant {
        let thoughts: Vec<&str> =
            message.parts.iter().filter_map(thought).filter(|text| !text.is_empty()).collect();
        set(
            &mut step,
            "reasoning_content",
            (!thoughts.is_empty()).then(|| json!(thoughts.join("\n"))),
        );
        let calls: Vec<Value> = calls(message).collect();
        set(&mut step, "tool_calls", (!calls.is_empty()).then_some(Value::Array(calls)));
        set(&mut step, "metrics", entry.usage.map(metrics));
    }
    timed(step, entry)
}

fn timed(mut step: Value, entry: &Entry) -> Value {
    let time = entry.time.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    set(&mut step, "timestamp", time.map(|time| json!(time.to_string())));
    step
}

/// Adds results to the step that made their calls. A result without such a step becomes a step.
fn add_results(steps: &mut Vec<Value>, entry: &Entry) {
    for result in entry.message.results() {
        let made_call = |step: &&mut Value| {
            let calls = step["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
            calls.iter().any(|call| call["tool_call_id"] == json!(result.call_id))
        };
        match steps.iter_mut().rev().find(made_call) {
            Some(step) => {
                if let Some(Value::Array(list)) =
                    step.get_mut("observation").and_then(|value| value.get_mut("results"))
                {
                    list.push(self::result(result, true));
                } else {
                    step["observation"] = json!({"results": [self::result(result, true)]});
                }
            }
            None => {
                let observation = json!({"results": [self::result(result, false)]});
                steps.push(timed(
                    json!({"source": "user", "message": "", "observation": observation}),
                    entry,
                ));
            }
        }
    }
}

fn result(result: &ToolResult, answers: bool) -> Value {
    let mut value = json!({"content": content(&result.parts)});
    set(&mut value, "source_call_id", answers.then(|| json!(result.call_id)));
    let mut extra = Map::new();
    if result.is_error {
        extra.insert("is_error".into(), json!(true));
    }
    if !answers && !result.call_id.is_empty() {
        extra.insert("call_id".into(), json!(result.call_id));
    }
    set(&mut value, "extra", (!extra.is_empty()).then_some(Value::Object(extra)));
    value
}

fn calls(message: &Message) -> impl Iterator<Item = Value> {
    message.calls().map(|call| {
        // Only an object is allowed; anything else is kept as text.
        let parsed = serde_json::from_str(&call.arguments).ok().filter(Value::is_object);
        let arguments = parsed.unwrap_or_else(|| json!({"_raw": call.arguments}));
        json!({"tool_call_id": call.id, "function_name": call.name, "arguments": arguments})
    })
}

/// Returns text as a string, and text with images as a list of parts. The format has no inline
/// images, so a note replaces them.
fn content(parts: &[Part]) -> Value {
    let shown: Vec<Value> = parts.iter().filter_map(part).collect();
    if shown.iter().all(|part| part["type"] == "text") {
        let texts: Vec<&str> = shown.iter().filter_map(|part| part["text"].as_str()).collect();
        return json!(texts.join("\n"));
    }
    Value::Array(shown)
}

fn part(part: &Part) -> Option<Value> {
    match &part.body {
        Body::Text(text) => Some(json!({"type": "text", "text": text})),
        Body::Image(Image::Url(url)) => {
            let media = match url.rsplit('.').next() {
                Some("jpg" | "jpeg") => "image/jpeg",
                Some("gif") => "image/gif",
                Some("webp") => "image/webp",
                _ => "image/png",
            };
            Some(json!({"type": "image", "source": {"media_type": media, "path": url}}))
        }
        Body::Image(Image::Inline { media, data }) => {
            let text = format!("[image, {media}, {} base64 bytes]", data.len());
            Some(json!({"type": "text", "text": text}))
        }
        _ => None,
    }
}

fn thought(part: &Part) -> Option<&str> {
    match &part.body {
        Body::Thinking(thinking) => Some(&thinking.text),
        _ => None,
    }
}

fn metrics(usage: Usage) -> Value {
    let Usage { prompt, cached, written, output } = usage;
    json!({
        "prompt_tokens": prompt, "completion_tokens": output, "cached_tokens": cached,
        "extra": {"cache_creation_input_tokens": written},
    })
}
