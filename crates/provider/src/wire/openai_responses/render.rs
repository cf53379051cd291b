//! Neutral messages to Responses items.

use waterline::json;
use waterline::message::{Body, Call, Form, Image, Message, Part, Role, Wire};

use crate::wire::rendered::{Json, Rendered};

pub(super) fn render(messages: &[&Message]) -> Rendered {
    let mut rendered = Rendered::default();
    let mut instructions: Vec<String> = Vec::new();
    let mut begun = false;
    for message in messages {
        if message.role == Role::System && !begun && !is_item(message) {
            if let Some(raw) = as_received(message) {
                rendered.system = Some(raw);
            }
            instructions.push(message.text());
            continue;
        }
        begun |= message.role != Role::System;
        match as_received(message) {
            Some(raw) => rendered.messages.push(raw),
            None => rendered.messages.extend(items(message).into_iter().map(Json::Made)),
        }
    }
    if instructions.len() > 1 || rendered.system.is_none() && !instructions.is_empty() {
        rendered.system = Some(Json::Made(json::quote(&instructions.join("\n\n"))));
    }
    rendered
}

/// Whether a system message stood in the list itself.
fn is_item(message: &Message) -> bool {
    message.raw.as_ref().is_some_and(|raw| raw.wire() == Wire::OpenaiResponses && raw.as_str().starts_with('{'))
}

fn as_received(message: &Message) -> Option<Json> {
    let raw =
        message.raw.as_ref().filter(|raw| message.form == Form::AsReceived && raw.wire() == Wire::OpenaiResponses)?;
    // A plain text for the whole list cannot stand inside one.
    (message.role == Role::System || raw.as_str().starts_with('{')).then(|| Json::Raw(raw.clone()))
}

fn items(message: &Message) -> Vec<String> {
    let ours = message.raw.as_ref().is_some_and(|raw| raw.wire() == Wire::OpenaiResponses);
    let mut items = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let text_kind = if message.role == Role::Assistant { "output_text" } else { "input_text" };
    for part in &message.parts {
        match &part.body {
            Body::Text(text) if text.trim().is_empty() => {}
            Body::Text(text) => {
                words.push(json::object([("type", json::quote(text_kind)), ("text", json::quote(text))]))
            }
            Body::Image(image) => words.push(picture(image)),
            Body::Opaque(opaque)
                if opaque.wire == Wire::OpenaiResponses
                    && message.role == Role::Assistant
                    && message.parts.len() == 1 =>
            {
                items.push(opaque.json.clone())
            }
            Body::Opaque(opaque) if opaque.wire == Wire::OpenaiResponses => words.push(opaque.json.clone()),
            Body::Call(call) => items.push(self::call(call, part, ours)),
            Body::Result(_) => items.extend(output(part, ours)),
            Body::Thinking(thinking) if ours && thinking.signature.is_some() => items.push(reasoning(part)),
            Body::Thinking(_) | Body::Opaque(_) => {}
        }
    }
    if !words.is_empty() {
        let said = spoken(message.role, words);
        // What the assistant says comes before its calls, what a user says after the results.
        if message.role == Role::Assistant { items.insert(0, said) } else { items.push(said) }
    }
    items
}

fn spoken(role: Role, words: Vec<String>) -> String {
    let name = match role {
        Role::System => "developer",
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    };
    json::object([("type", json::quote("message")), ("role", json::quote(name)), ("content", json::array(words))])
}

fn is_custom(part: &Part, ours: bool) -> bool {
    ours && part.extra.iter().any(|(key, value)| key == "type" && value.contains("custom_tool_call"))
}

/// Item ids tie an item to others that may be gone, so a rewritten item goes without.
fn call(call: &Call, part: &Part, ours: bool) -> String {
    let (id, name) = (("call_id", json::quote(&call.id)), ("name", json::quote(&call.name)));
    if is_custom(part, ours) {
        let input = json::Fields::parse(&call.arguments).and_then(|fields| fields.get("input").map(str::to_owned));
        let input = input.unwrap_or_else(|| json::quote(&call.arguments));
        return json::object([("type", json::quote("custom_tool_call")), id, name, ("input", input)]);
    }
    json::object([("type", json::quote("function_call")), id, name, ("arguments", json::quote(&call.arguments))])
}

fn output(part: &Part, ours: bool) -> Option<String> {
    let Body::Result(result) = &part.body else { return None };
    let kind = if is_custom(part, ours) { "custom_tool_call_output" } else { "function_call_output" };
    let pictures: Vec<String> = result
        .parts
        .iter()
        .filter_map(|part| if let Body::Image(image) = &part.body { Some(picture(image)) } else { None })
        .collect();
    let text = result.text();
    let output = if pictures.is_empty() {
        json::quote(&text)
    } else {
        let words = (!text.is_empty())
            .then(|| json::object([("type", json::quote("input_text")), ("text", json::quote(&text))]));
        json::array(words.into_iter().chain(pictures))
    };
    Some(json::object([("type", json::quote(kind)), ("call_id", json::quote(&result.call_id)), ("output", output)]))
}

fn reasoning(part: &Part) -> String {
    let Body::Thinking(thinking) = &part.body else { return String::new() };
    let summary = part.extra.iter().find(|(key, _)| key == "summary").map_or("[]", |(_, value)| value);
    let signature = json::quote(thinking.signature.as_deref().unwrap_or_default());
    json::object([
        ("type", json::quote("reasoning")),
        ("summary", summary.to_owned()),
        ("encrypted_content", signature),
    ])
}

fn picture(image: &Image) -> String {
    let url = match image {
        Image::Inline { media, data } => format!("data:{media};base64,{data}"),
        Image::Url(url) => url.clone(),
    };
    json::object([("type", json::quote("input_image")), ("image_url", json::quote(&url))])
}
