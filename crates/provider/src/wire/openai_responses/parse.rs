//! Responses items to neutral messages, one message per item.

use waterline::json::{self, Fields};
use waterline::message::{Body, Message, Opaque, Part, Role, Thinking, ToolCall, ToolResult, Wire};
use waterline::phrase;
use waterline::warning::WarningKind;

use crate::wire::read::{self, Reader, Refusal, kind, object};

pub(super) fn item(json: &str, reader: &mut Reader) -> Result<Message, Refusal> {
    if let Some(text) = json::string(json) {
        let text = reader.text(text);
        return Ok(reader.message(Role::User, vec![Part::text(text)], Fields::default()));
    }
    let mut fields = object(json)?;
    let kind = kind(&fields);
    match kind.as_str() {
        "" if fields.get("role").is_none() && fields.get("id").is_some() => {
            Ok(opaque(json, reader))
        }
        "" | "message" => message(fields, reader),
        _ if super::is_call(&kind, &fields) => Ok(call(&kind, fields, reader)),
        _ if super::is_output(&kind, &fields) => Ok(output(&kind, fields, reader)),
        "reasoning" => {
            fields.take("type");
            let signature = reader.take(&mut fields, "encrypted_content");
            let thinking = Thinking { text: summary(&fields, reader), signature };
            let part = Part::new(Body::Thinking(thinking), fields.into_rest());
            Ok(reader.message(Role::Assistant, vec![part], Fields::default()))
        }
        _ => Ok(opaque(json, reader)),
    }
}

/// Wraps an item that other wires do not have, or a reference to one stored by the provider.
fn opaque(json: &str, reader: &Reader) -> Message {
    let opaque = Opaque::new(Wire::OPENAI_RESPONSES, json);
    reader.message(Role::Assistant, vec![Body::Opaque(opaque).into()], Fields::default())
}

pub(super) fn system(json: &str, reader: &mut Reader) -> Option<Message> {
    let text = reader.text(json::string(json)?);
    (!text.is_empty())
        .then(|| reader.message(Role::System, vec![Part::text(text)], Fields::default()))
}

fn message(mut fields: Fields<'_>, reader: &mut Reader) -> Result<Message, Refusal> {
    let name = reader
        .take(&mut fields, "role")
        .ok_or_else(|| Refusal::new(phrase!("parse-no-type", "neither a known type nor a role")))?;
    let role = match name.as_str() {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        other => {
            return Err(Refusal::new(phrase!(
                "parse-unknown-role",
                "unknown role {role:?}",
                role = other
            )));
        }
    };
    fields.take("type");
    let parts = reader.content(fields.take("content"), part);
    Ok(reader.message(role, parts, fields))
}

fn part(json: &str, reader: &mut Reader) -> Option<Part> {
    let opaque = || Some(Body::Opaque(Opaque::new(Wire::OPENAI_RESPONSES, json)).into());
    let Some(mut fields) = Fields::parse(json) else { return opaque() };
    match kind(&fields).as_str() {
        "input_text" | "output_text" | "text" => {
            let text = reader.take(&mut fields, "text").unwrap_or_default();
            if text.is_empty() {
                reader.note(
                    WarningKind::BlankText,
                    phrase!("warning-empty-text", "an empty text was omitted"),
                );
                return None;
            }
            fields.take("type");
            Some(Part::new(Body::Text(text), fields.into_rest()))
        }
        "input_image" => match fields.take_string("image_url") {
            Some(url) => Some(Body::Image(read::image(&url.text)).into()),
            None => opaque(),
        },
        _ => opaque(),
    }
}

fn call(kind: &str, mut fields: Fields<'_>, reader: &mut Reader) -> Message {
    let id = reader.take(&mut fields, "call_id").unwrap_or_default();
    let (name, arguments) = match kind {
        "function_call" => (
            reader.take(&mut fields, "name"),
            reader.take(&mut fields, "arguments").unwrap_or_default(),
        ),
        "custom_tool_call" => {
            let input = fields.take("input").unwrap_or("\"\"");
            (reader.take(&mut fields, "name"), json::object([("input", input)]))
        }
        // Its action is in the extra fields, which are sent back unchanged.
        _ => (Some(kind.to_owned()), "{}".to_owned()),
    };
    let name = name.unwrap_or_default();
    // The type stays in the extra fields: it distinguishes the kinds of calls.
    let part = Part::new(Body::Call(ToolCall { id, name, arguments }), fields.into_rest());
    reader.message(Role::Assistant, vec![part], Fields::default())
}

fn output(kind: &str, mut fields: Fields<'_>, reader: &mut Reader) -> Message {
    let call_id = reader.take(&mut fields, "call_id").unwrap_or_default();
    let parts = match kind {
        "function_call_output" | "custom_tool_call_output" => {
            reader.content(fields.take("output"), part)
        }
        _ => fields.get("output").map(Part::text).into_iter().collect(),
    };
    let result = ToolResult { call_id, name: None, parts, is_error: false };
    let part = Part::new(Body::Result(result), fields.into_rest());
    reader.message(Role::Tool, vec![part], Fields::default())
}

fn summary(fields: &Fields<'_>, reader: &mut Reader) -> String {
    let list = fields.get("summary").and_then(json::elements).unwrap_or_default();
    let texts = list.into_iter().filter_map(|part| Fields::parse(part)?.take_string("text"));
    texts.map(|lossy| reader.text(lossy)).collect::<Vec<_>>().join("\n")
}
