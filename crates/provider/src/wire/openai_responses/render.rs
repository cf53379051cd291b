//! Neutral messages to Responses items.

use std::collections::HashSet;

use waterline::json;
use waterline::message::{Body, Form, Image, Message, Part, Role, ToolCall, Wire};

use crate::wire::rendered::{Json, Rendered};

pub(super) fn render(messages: &[&Message]) -> Rendered {
    let mut rendered = Rendered::default();
    let mut instructions: Vec<String> = Vec::new();
    let mut past_systems = false;
    let mut custom: HashSet<&str> = HashSet::new();
    for message in messages {
        custom.extend(custom_calls(message));
        if message.role == Role::System && !past_systems && !is_item(message) {
            if let Some(raw) = as_received(message) {
                rendered.system = Some(raw);
            }
            instructions.push(message.text());
            continue;
        }
        past_systems |= message.role != Role::System;
        match as_received(message) {
            Some(raw) => rendered.messages.push(raw),
            None => rendered.messages.extend(items(message, &custom).into_iter().map(Json::made)),
        }
    }
    if instructions.len() > 1 || rendered.system.is_none() && !instructions.is_empty() {
        rendered.system = Some(Json::made(json::quote(&instructions.join("\n\n"))));
    }
    rendered
}

/// Whether a system message came from the list itself.
fn is_item(message: &Message) -> bool {
    message
        .raw
        .as_ref()
        .is_some_and(|raw| raw.wire() == Wire::OPENAI_RESPONSES && raw.as_str().starts_with('{'))
}

fn as_received(message: &Message) -> Option<Json> {
    let raw = message
        .raw
        .as_ref()
        .filter(|raw| message.form == Form::AsReceived && raw.wire() == Wire::OPENAI_RESPONSES)?;
    // A plain text that replaced the whole list cannot be an item of a list.
    (message.role == Role::System || raw.as_str().starts_with('{')).then(|| Json::Raw(raw.clone()))
}

/// Returns the ids of a message's custom calls, whose outputs have a different type.
fn custom_calls(message: &Message) -> impl Iterator<Item = &str> {
    let native = message.raw.as_ref().is_some_and(|raw| raw.wire() == Wire::OPENAI_RESPONSES);
    message.parts.iter().filter_map(move |part| match &part.body {
        Body::Call(call) if kind(part, native).as_deref() == Some("custom_tool_call") => {
            Some(call.id.as_str())
        }
        _ => None,
    })
}

fn items(message: &Message, custom: &HashSet<&str>) -> Vec<String> {
    let native = message.raw.as_ref().is_some_and(|raw| raw.wire() == Wire::OPENAI_RESPONSES);
    let mut items = Vec::new();
    let mut content: Vec<String> = Vec::new();
    // An opaque part is either a whole item of the provider, or part of a message's content.
    let is_whole_item = native && message.role == Role::Assistant && !came_as_message(message);
    let text_kind = if message.role == Role::Assistant { "output_text" } else { "input_text" };
    for part in &message.parts {
        match &part.body {
            Body::Text(text) if text.trim().is_empty() => {}
            Body::Text(text) => content.push(with_extra(
                [("type", json::quote(text_kind)), ("text", json::quote(text))],
                part,
                native,
            )),
            Body::Image(image) => content.push(input_image(image)),
            Body::Opaque(opaque) if is_whole_item => items.push(opaque.json.clone()),
            Body::Opaque(opaque) => content.push(opaque.json.clone()),
            Body::Call(call) => items.push(self::call(call, part, native)),
            Body::Result(_) => items.extend(output(part, native, custom)),
            Body::Thinking(thinking) if native && thinking.signature.is_some() => {
                items.push(reasoning(part))
            }
            Body::Thinking(_) => {}
        }
    }
    if !content.is_empty() {
        let item = message_item(message.role, content);
        // The assistant's text comes before its calls, the user's text after the results.
        if message.role == Role::Assistant { items.insert(0, item) } else { items.push(item) }
    }
    items
}

/// Whether it came as a message, not as an item of another type.
fn came_as_message(message: &Message) -> bool {
    message.raw.as_ref().is_some_and(|raw| {
        json::Fields::parse(raw.as_str()).is_some_and(|fields| fields.get("role").is_some())
    })
}

fn with_extra<'a>(
    fields: impl IntoIterator<Item = (&'a str, String)>,
    part: &'a Part,
    native: bool,
) -> String {
    let extra = part.extra.iter().filter(|(key, _)| native && key != "type");
    json::object(fields.into_iter().chain(extra.map(|(key, value)| (key.as_str(), value.clone()))))
}

fn message_item(role: Role, content: Vec<String>) -> String {
    let name = match role {
        Role::System => "developer",
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    };
    json::object([
        ("type", json::quote("message")),
        ("role", json::quote(name)),
        ("content", json::array(content)),
    ])
}

/// Returns the original type of an item, if it came from this wire.
fn kind(part: &Part, native: bool) -> Option<String> {
    let (_, value) = part.extra.iter().find(|(key, _)| native && key == "type")?;
    json::string(value).map(|lossy| lossy.text)
}

fn call(call: &ToolCall, part: &Part, native: bool) -> String {
    let id = ("call_id", json::quote(&call.id));
    let name = ("name", json::quote(&call.name));
    let kind = kind(part, native).unwrap_or_else(|| "function_call".to_owned());
    let fields = match kind.as_str() {
        "function_call" => vec![id, name, ("arguments", json::quote(&call.arguments))],
        "custom_tool_call" => {
            let input = json::Fields::parse(&call.arguments)
                .and_then(|fields| fields.get("input").map(str::to_owned));
            vec![id, name, ("input", input.unwrap_or_else(|| json::quote(&call.arguments)))]
        }
        _ => vec![id],
    };
    with_extra([("type", json::quote(&kind))].into_iter().chain(fields), part, native)
}

fn output(part: &Part, native: bool, custom: &HashSet<&str>) -> Option<String> {
    let Body::Result(result) = &part.body else { return None };
    let is_custom = custom.contains(result.call_id.as_str());
    let default_kind = if is_custom { "custom_tool_call_output" } else { "function_call_output" };
    let kind = kind(part, native).unwrap_or_else(|| default_kind.to_owned());
    let fields = [("type", json::quote(&kind)), ("call_id", json::quote(&result.call_id))];
    if part.extra.iter().any(|(key, _)| native && key == "output") {
        return Some(with_extra(fields, part, native));
    }
    let is_text = |part: &&Part| matches!(part.body, Body::Text(_));
    let others: Vec<String> =
        result.parts.iter().filter(|part| !is_text(part)).filter_map(other).collect();
    let text = result.text();
    let output = if others.is_empty() {
        json::quote(&text)
    } else {
        let text_part =
            json::object([("type", json::quote("input_text")), ("text", json::quote(&text))]);
        json::array((!text.is_empty()).then_some(text_part).into_iter().chain(others))
    };
    Some(with_extra(fields.into_iter().chain([("output", output)]), part, native))
}

/// Renders an image or an opaque part of a result.
fn other(part: &Part) -> Option<String> {
    match &part.body {
        Body::Image(image) => Some(input_image(image)),
        Body::Opaque(opaque) => Some(opaque.json.clone()),
        _ => None,
    }
}

fn reasoning(part: &Part) -> String {
    let Body::Thinking(thinking) = &part.body else { return String::new() };
    let signature = json::quote(thinking.signature.as_deref().unwrap_or_default());
    with_extra([("type", json::quote("reasoning")), ("encrypted_content", signature)], part, true)
}

fn input_image(image: &Image) -> String {
    let url = match image {
        Image::Inline { media, data } => format!("data:{media};base64,{data}"),
        Image::Url(url) => url.clone(),
    };
    json::object([("type", json::quote("input_image")), ("image_url", json::quote(&url))])
}
