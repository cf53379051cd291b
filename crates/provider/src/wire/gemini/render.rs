//! Neutral messages to Gemini contents: the user first, then alternating roles, with one response
//! per call, in the order of the calls.

use waterline::json;
use waterline::message::{Body, Form, Image, Message, Part, Role, ToolResult, Wire};

use crate::wire::rendered::{Json, Rendered};

/// The user message that precedes a conversation starting with the model, which this wire does not
/// allow.
const OPENING: &str = "(the conversation starts with a model message)";

pub(super) fn render(messages: &[&Message]) -> Rendered {
    let lead = messages.iter().take_while(|message| message.role == Role::System).count();
    let (systems, body) = messages.split_at(lead);
    let mut writer = Writer::default();
    // A message that is empty on this wire must not separate two of the same role.
    for message in body.iter().filter(|message| !is_empty(message)) {
        writer.message(message);
    }
    writer.flush();
    Rendered { system: system(systems), messages: writer.out }
}

#[derive(Default)]
struct Writer<'a> {
    out: Vec<Json>,
    role: &'static str,
    group: Vec<&'a Message>,
    /// The calls of the last model turn: id and name.
    calls: Vec<(&'a str, &'a str)>,
}

impl<'a> Writer<'a> {
    fn message(&mut self, message: &'a Message) {
        let role = if message.role == Role::Assistant { "model" } else { "user" };
        if role != self.role {
            self.flush();
        }
        self.role = role;
        self.group.push(message);
    }

    fn flush(&mut self) {
        let group = std::mem::take(&mut self.group);
        if self.role == "model" {
            self.calls = group
                .iter()
                .flat_map(|message| message.calls())
                .map(|call| (call.id.as_str(), call.name.as_str()))
                .collect();
        }
        let Some(written) = self.write(&group) else { return };
        if self.out.is_empty() && self.role == "model" {
            self.out.push(Json::made(content("user", vec![text(OPENING)])));
        }
        self.out.push(written);
    }

    fn write(&self, group: &[&Message]) -> Option<Json> {
        if let [only] = group
            && let Some(raw) = as_received(only).filter(|_| self.in_call_order(only))
        {
            return Some(raw);
        }
        let mut results: Vec<(usize, String)> = Vec::new();
        let mut rest: Vec<String> = Vec::new();
        for message in group {
            // Merged with an adjacent message, the parts must keep their bytes and order.
            if let Some(raw) = as_received(message) {
                for (part, json) in message.parts.iter().zip(raw_parts(raw.as_str())) {
                    match &part.body {
                        Body::Result(result) => results.push((self.order(result), json)),
                        _ => rest.push(json),
                    }
                }
                continue;
            }
            let native = is_native(message);
            for part in &message.parts {
                match &part.body {
                    Body::Result(result) => {
                        results.push((self.order(result), self.result(result)));
                        rest.extend(
                            result
                                .parts
                                .iter()
                                .filter(|inner| is_image(inner))
                                .filter_map(|inner| self::part(inner, native)),
                        );
                    }
                    _ if message.role == Role::System => rest.extend(system_text(part)),
                    _ => rest.extend(self::part(part, native)),
                }
            }
        }
        results.sort_by_key(|(order, _)| *order);
        let parts: Vec<String> = results.into_iter().map(|(_, json)| json).chain(rest).collect();
        (!parts.is_empty()).then(|| Json::made(content(self.role, parts)))
    }

    /// Returns the index of a result's call: without ids, they are matched by order.
    fn order(&self, result: &ToolResult) -> usize {
        self.calls.iter().position(|(id, _)| *id == result.call_id).unwrap_or(usize::MAX)
    }

    fn in_call_order(&self, message: &Message) -> bool {
        message.results().map(|result| self.order(result)).is_sorted()
    }

    fn result(&self, result: &ToolResult) -> String {
        let call = self.calls.iter().find(|(id, _)| *id == result.call_id);
        let name = call.map(|(_, name)| *name).or(result.name.as_deref()).unwrap_or_default();
        let key = if result.is_error { "error" } else { "output" };
        let output = json::object([(key, json::quote(&result.text()))]);
        let response = json::object([("name", json::quote(name)), ("response", output)]);
        json::object([("functionResponse", response)])
    }
}

const fn is_image(part: &Part) -> bool {
    matches!(part.body, Body::Image(_))
}

/// Returns the original bytes. Ids may have been added to calls that had none; this wire needs
/// none, so the bytes are still valid.
fn as_received(message: &Message) -> Option<Json> {
    let raw = message
        .raw
        .as_ref()
        .filter(|raw| message.form != Form::Changed && raw.wire() == Wire::GEMINI)?;
    (message.role != Role::System).then(|| Json::Raw(raw.clone()))
}

fn is_empty(message: &Message) -> bool {
    let native = is_native(message);
    let has_content = |part: &Part| match message.role {
        Role::System => system_text(part).is_some(),
        _ => matches!(part.body, Body::Result(_)) || self::part(part, native).is_some(),
    };
    as_received(message).is_none() && !message.parts.iter().any(has_content)
}

fn raw_parts(json: &str) -> Vec<String> {
    let parts =
        json::Fields::parse(json).and_then(|fields| fields.get("parts").and_then(json::elements));
    parts.unwrap_or_default().into_iter().map(str::to_owned).collect()
}

fn is_native(message: &Message) -> bool {
    message.raw.as_ref().is_some_and(|raw| raw.wire() == Wire::GEMINI)
}

fn content(role: &str, parts: Vec<String>) -> String {
    json::object([("role", json::quote(role)), ("parts", json::array(parts))])
}

fn text(text: &str) -> String {
    json::object([("text", json::quote(text))])
}

fn system(systems: &[&Message]) -> Option<Json> {
    if let [only] = systems
        && only.form == Form::AsReceived
        && let Some(raw) = only.raw.as_ref().filter(|raw| raw.wire() == Wire::GEMINI)
    {
        return Some(Json::Raw(raw.clone()));
    }
    let parts: Vec<String> = systems
        .iter()
        .flat_map(|message| message.texts())
        .filter(|t| !t.trim().is_empty())
        .map(text)
        .collect();
    (!parts.is_empty()).then(|| Json::made(json::object([("parts", json::array(parts))])))
}

fn system_text(part: &Part) -> Option<String> {
    match &part.body {
        Body::Text(inner) => Some(text(&format!("<system-message>\n{inner}\n</system-message>"))),
        _ => None,
    }
}

fn part(part: &Part, native: bool) -> Option<String> {
    let fields = match &part.body {
        Body::Text(text) if text.trim().is_empty() => return None,
        Body::Text(text) => vec![("text", json::quote(text))],
        Body::Image(Image::Inline { media, data }) => {
            let data =
                json::object([("mimeType", json::quote(media)), ("data", json::quote(data))]);
            vec![("inlineData", data)]
        }
        Body::Image(Image::Url(url)) => {
            vec![("fileData", json::object([("fileUri", json::quote(url))]))]
        }
        Body::Call(call) => {
            let args = if json::is_object(&call.arguments) {
                call.arguments.clone()
            } else {
                "{}".to_owned()
            };
            vec![(
                "functionCall",
                json::object([("name", json::quote(&call.name)), ("args", args)]),
            )]
        }
        Body::Thinking(thinking) if native => vec![("text", json::quote(&thinking.text))],
        Body::Opaque(opaque) if opaque.wire == Wire::GEMINI => return Some(opaque.json.clone()),
        Body::Thinking(_) | Body::Opaque(_) | Body::Result(_) => return None,
    };
    let extra = part.extra.iter().filter(|_| native).cloned();
    Some(json::object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).chain(extra)))
}
