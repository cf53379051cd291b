//! Neutral messages to chat messages.

use waterline::json;
use waterline::message::{Body, Form, Image, Message, Part, Role, ToolResult, Wire};

use crate::wire::rendered::{Json, Rendered};

pub(super) fn render(messages: &[&Message]) -> Rendered {
    let mut writer = Writer::default();
    for message in messages {
        writer.message(message);
    }
    writer.flush();
    Rendered { system: None, messages: writer.out }
}

#[derive(Default)]
struct Writer {
    out: Vec<Json>,
    /// An assistant message whose calls may continue in the next one.
    held: Option<Message>,
    /// Images from results: a tool message accepts only text, so they follow as a user message.
    images: Vec<Part>,
}

impl Writer {
    fn message(&mut self, message: &Message) {
        if message.role == Role::Assistant {
            self.assistant(message);
            return;
        }
        let has_results = message.results().next().is_some();
        if has_results {
            self.flush_held();
        } else {
            self.flush();
        }
        match as_received(message) {
            Some(raw) => self.out.push(raw),
            None => self.write(message),
        }
    }

    fn assistant(&mut self, message: &Message) {
        // A message with only thinking, which other wires allow, would be empty here.
        if message.only_thinks() {
            return;
        }
        self.flush_images();
        match &mut self.held {
            // Parallel calls belong in one message here.
            Some(held) => {
                held.form = Form::Changed;
                held.parts.extend(message.parts.iter().cloned());
            }
            None => self.held = Some(message.clone()),
        }
        if message.calls().next().is_none()
            && self.held.as_ref().is_some_and(|held| held.calls().next().is_none())
        {
            self.flush_held();
        }
    }

    fn flush(&mut self) {
        self.flush_held();
        self.flush_images();
    }

    fn flush_held(&mut self) {
        let Some(held) = self.held.take() else { return };
        let written = as_received(&held).or_else(|| assistant(&held).map(Json::made));
        self.out.extend(written);
    }

    fn flush_images(&mut self) {
        if !self.images.is_empty() {
            let parts = std::mem::take(&mut self.images);
            self.out
                .extend(content(&parts, false).map(|content| Json::made(plain("user", content))));
        }
    }

    fn write(&mut self, message: &Message) {
        for result in message.results() {
            self.out.push(Json::made(tool(message, result)));
            let images = result.parts.iter().filter(|part| matches!(part.body, Body::Image(_)));
            self.images.extend(images.cloned());
        }
        let rest: Vec<Part> = message
            .parts
            .iter()
            .filter(|part| !matches!(part.body, Body::Result(_)))
            .cloned()
            .collect();
        let Some(content) = content(&rest, is_native(message)) else { return };
        self.flush_images();
        let role = if message.role == Role::System { system_role(message) } else { "user" };
        let written = if message.results().next().is_none() {
            with_extra(message, [("role", json::quote(role)), ("content", content)])
        } else {
            plain(role, content)
        };
        self.out.push(Json::made(written));
    }
}

/// Returns the original bytes, if they are of this wire and the message is unchanged.
fn as_received(message: &Message) -> Option<Json> {
    let raw = message
        .raw
        .as_ref()
        .filter(|raw| message.form == Form::AsReceived && raw.wire() == Wire::OPENAI_CHAT)?;
    Some(Json::Raw(raw.clone()))
}

fn is_native(message: &Message) -> bool {
    message.raw.as_ref().is_some_and(|raw| raw.wire() == Wire::OPENAI_CHAT)
}

/// Newer models call the role developer; a changed message keeps its original name.
fn system_role(message: &Message) -> &'static str {
    let raw = message.raw.as_ref().filter(|raw| raw.wire() == Wire::OPENAI_CHAT);
    let role = raw
        .and_then(|raw| json::Fields::parse(raw.as_str()))
        .and_then(|fields| fields.get("role").map(str::to_owned));
    if role.as_deref() == Some("\"developer\"") { "developer" } else { "system" }
}

fn plain(role: &str, content: String) -> String {
    json::object([("role", json::quote(role)), ("content", content)])
}

fn with_extra<'a>(
    message: &'a Message,
    fields: impl IntoIterator<Item = (&'a str, String)>,
) -> String {
    let extra = message
        .extra
        .iter()
        .filter(|_| is_native(message))
        .map(|(key, value)| (key.as_str(), value.clone()));
    json::object(fields.into_iter().chain(extra))
}

fn assistant(message: &Message) -> Option<String> {
    let body: Vec<Part> = message
        .parts
        .iter()
        .filter(|part| matches!(part.body, Body::Text(_) | Body::Image(_) | Body::Opaque(_)))
        .cloned()
        .collect();
    let content = content(&body, is_native(message));
    let native = is_native(message);
    let calls: Vec<String> = message.parts.iter().filter_map(|part| call(part, native)).collect();
    if content.is_none() && calls.is_empty() {
        return None;
    }
    let calls = (!calls.is_empty()).then(|| ("tool_calls", json::array(calls)));
    let content = content.unwrap_or_else(|| "null".to_owned());
    let fields = [("role", json::quote("assistant")), ("content", content)];
    Some(with_extra(message, fields.into_iter().chain(reasoning(message)).chain(calls)))
}

/// Some providers require the field in every message that had it, even without the thinking.
fn reasoning(message: &Message) -> Option<(&'static str, String)> {
    let raw = message.raw.as_ref().filter(|raw| raw.wire() == Wire::OPENAI_CHAT)?;
    let thought = message.parts.iter().find_map(|part| match &part.body {
        Body::Thinking(thinking) => Some(thinking.text.as_str()),
        _ => None,
    });
    let had_one = raw.as_str().contains("\"reasoning_content\"");
    (thought.is_some() || had_one)
        .then(|| ("reasoning_content", json::quote(thought.unwrap_or_default())))
}

fn call(part: &Part, native: bool) -> Option<String> {
    let Body::Call(call) = &part.body else { return None };
    let extra =
        part.extra.iter().filter(|_| native).map(|(key, value)| (key.as_str(), value.clone()));
    let id = ("id", json::quote(&call.id));
    if native && part.extra.iter().any(|(key, _)| key == "custom") {
        return Some(json::object([id, ("type", json::quote("custom"))].into_iter().chain(extra)));
    }
    let function = json::object([
        ("name", json::quote(&call.name)),
        ("arguments", json::quote(&call.arguments)),
    ]);
    Some(json::object(
        [id, ("type", json::quote("function")), ("function", function)].into_iter().chain(extra),
    ))
}

fn tool(message: &Message, result: &ToolResult) -> String {
    let content = json::quote(&result_text(result));
    let fields = [
        ("role", json::quote("tool")),
        ("tool_call_id", json::quote(&result.call_id)),
        ("content", content),
    ];
    if message.parts.len() == 1 { with_extra(message, fields) } else { json::object(fields) }
}

fn result_text(result: &ToolResult) -> String {
    let mut text = result.text();
    for part in &result.parts {
        if matches!(part.body, Body::Image(_)) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str("[image follows]");
        }
    }
    text
}

/// Renders parts as content: one text if possible, otherwise a list; `None` if there is nothing to
/// send.
fn content(parts: &[Part], native: bool) -> Option<String> {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(
            |part| if let Body::Text(text) = &part.body { Some(text.as_str()) } else { None },
        )
        .collect();
    let plain = !native || parts.iter().all(|part| part.extra.is_empty());
    if plain && texts.len() == parts.len() {
        let text = texts.join("\n");
        return (!text.trim().is_empty()).then(|| json::quote(&text));
    }
    let list: Vec<String> = parts.iter().filter_map(|part| self::part(part, native)).collect();
    (!list.is_empty()).then(|| json::array(list))
}

fn part(part: &Part, native: bool) -> Option<String> {
    match &part.body {
        Body::Text(text) if !text.trim().is_empty() => {
            let extra = part
                .extra
                .iter()
                .filter(|_| native)
                .map(|(key, value)| (key.as_str(), value.clone()));
            Some(json::object(
                [("type", json::quote("text")), ("text", json::quote(text))]
                    .into_iter()
                    .chain(extra),
            ))
        }
        Body::Image(image) => {
            let url = match image {
                Image::Inline { media, data } => format!("data:{media};base64,{data}"),
                Image::Url(url) => url.clone(),
            };
            let url = json::object([("url", json::quote(&url))]);
            Some(json::object([("type", json::quote("image_url")), ("image_url", url)]))
        }
        Body::Opaque(opaque) if opaque.wire == Wire::OPENAI_CHAT => Some(opaque.json.clone()),
        _ => None,
    }
}
