//! Chat messages to neutral ones.

use waterline::json::{self, Fields};
use waterline::message::{Body, Message, Opaque, Part, Role, Thinking, ToolCall, ToolResult, Wire};
use waterline::phrase;
use waterline::warning::WarningKind;

use crate::wire::read::{self, Reader, Refusal, kind, object};

pub(super) fn message(json: &str, reader: &mut Reader) -> Result<Message, Refusal> {
    let mut fields = object(json)?;
    let name = reader
        .take(&mut fields, "role")
        .ok_or_else(|| Refusal::new(phrase!("parse-missing-role", "missing role")))?;
    let role = super::role(&name).ok_or_else(|| {
        Refusal::new(phrase!("parse-unknown-role", "unknown role {role:?}", role = &name))
    })?;
    let mut parts = content(&mut fields, role, reader);
    if role == Role::Tool {
        return Ok(result(fields, parts, reader));
    }
    if let Some(text) =
        reader.take(&mut fields, "reasoning_content").filter(|text| !text.is_empty())
    {
        parts.insert(0, Body::Thinking(Thinking { text, signature: None }).into());
    }
    if let Some(text) = fields.get("refusal").filter(|value| json::string(value).is_some()) {
        let json = json::object([("type", json::quote("refusal")), ("refusal", text.to_owned())]);
        parts.push(Body::Opaque(Opaque::new(Wire::OPENAI_CHAT, json)).into());
    }
    // The legacy call without an id; its result names the function.
    if let Some(function) = fields.get("function_call").and_then(Fields::parse) {
        fields.take("function_call");
        parts.extend(legacy_call(function, reader));
    }
    if let Some(calls) = fields.get("tool_calls").and_then(json::elements) {
        fields.take("tool_calls");
        parts.extend(calls.into_iter().filter_map(|call| self::call(call, reader)));
    }
    Ok(reader.message(role, parts, fields))
}

fn content(fields: &mut Fields<'_>, role: Role, reader: &mut Reader) -> Vec<Part> {
    let content = fields.take("content");
    // The API itself sends null or no content together with one of these.
    let has_substitute = ["tool_calls", "function_call", "refusal", "audio"]
        .iter()
        .any(|name| fields.get(name).is_some());
    if content.is_none_or(json::is_null) && role == Role::Assistant && has_substitute {
        return Vec::new();
    }
    reader.content(content, part)
}

fn part(json: &str, reader: &mut Reader) -> Option<Part> {
    let opaque = || Body::Opaque(Opaque::new(Wire::OPENAI_CHAT, json)).into();
    let Some(mut fields) = Fields::parse(json) else {
        // Some clients put bare strings into the list.
        return json::string(json).map(|lossy| Part::text(reader.text(lossy)));
    };
    match kind(&fields).as_str() {
        "text" => {
            let text = reader.take(&mut fields, "text").unwrap_or_default();
            fields.take("type");
            if text.is_empty() {
                reader.note(
                    WarningKind::BlankText,
                    phrase!("warning-text-part-omitted", "an empty text part was omitted"),
                );
                return None;
            }
            Some(Part::new(Body::Text(text), fields.into_rest()))
        }
        "image_url" => {
            let url = fields
                .get("image_url")
                .and_then(Fields::parse)
                .and_then(|mut inner| inner.take_string("url"));
            Some(url.map_or_else(opaque, |url| Body::Image(read::image(&url.text)).into()))
        }
        _ => Some(opaque()),
    }
}

fn legacy_call(mut function: Fields<'_>, reader: &mut Reader) -> Option<Part> {
    let name = reader.take(&mut function, "name")?;
    let arguments = reader.take(&mut function, "arguments").unwrap_or_default();
    Some(Body::Call(ToolCall { id: String::new(), name, arguments }).into())
}

fn call(json: &str, reader: &mut Reader) -> Option<Part> {
    let mut fields = Fields::parse(json)?;
    let id = reader.take(&mut fields, "id").unwrap_or_default();
    let custom = fields.get("custom").and_then(Fields::parse);
    let mut function =
        fields.take("function").and_then(Fields::parse).or(custom).unwrap_or_default();
    let name = reader.take(&mut function, "name").unwrap_or_default();
    let arguments = match reader.take(&mut function, "arguments") {
        Some(text) => text,
        // The free input of a custom tool.
        None => {
            function.get("input").map_or_else(String::new, |input| json::object([("input", input)]))
        }
    };
    fields.take("type");
    Some(Part::new(Body::Call(ToolCall { id, name, arguments }), fields.into_rest()))
}

fn result(mut fields: Fields<'_>, parts: Vec<Part>, reader: &mut Reader) -> Message {
    let call_id = reader.take(&mut fields, "tool_call_id").unwrap_or_default();
    let name = fields.get("name").and_then(json::string).map(|lossy| lossy.text);
    let is_error = fields.get("is_error").is_some_and(|value| value == "true");
    let result = ToolResult { call_id, name, parts, is_error };
    reader.message(Role::Tool, vec![Body::Result(result).into()], fields)
}
