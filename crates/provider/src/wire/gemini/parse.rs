//! Gemini contents to neutral messages.

use waterline::json::{self, Fields};
use waterline::message::{
    Body, Image, Message, Opaque, Part, Role, Thinking, ToolCall, ToolResult, Wire,
};
use waterline::phrase;
use waterline::warning::WarningKind;

use crate::wire::read::{Reader, Refusal, object};

pub(super) fn content(json: &str, reader: &mut Reader) -> Result<Message, Refusal> {
    let mut fields = object(json)?;
    let name = reader.take(&mut fields, "role");
    let parts = parts(fields.take("parts"), reader);
    let calls = parts.iter().any(|part| matches!(part.body, Body::Call(_) | Body::Thinking(_)));
    let name = name.unwrap_or_else(|| {
        let guess = if calls { "model" } else { "user" };
        reader.note(
            WarningKind::MissingRole,
            phrase!(
                "warning-missing-role",
                "a turn without a role; assumed {guess:?}",
                guess = guess
            ),
        );
        guess.to_owned()
    });
    let only_results =
        !parts.is_empty() && parts.iter().all(|part| matches!(part.body, Body::Result(_)));
    let role = match name.as_str() {
        "user" | "function" | "tool" if only_results => Role::Tool,
        "user" | "function" | "tool" => Role::User,
        "model" | "assistant" => Role::Assistant,
        "system" => Role::System,
        other => {
            return Err(Refusal::new(phrase!(
                "parse-unknown-role",
                "unknown role {role:?}",
                role = other
            )));
        }
    };
    Ok(reader.message(role, parts, fields))
}

pub(super) fn system(json: &str, reader: &mut Reader) -> Option<Message> {
    if let Some(text) = json::string(json) {
        let text = reader.text(text);
        return Some(reader.message(Role::System, vec![Part::text(text)], Fields::default()));
    }
    let mut fields = Fields::parse(json)?;
    let parts = parts(fields.take("parts"), reader);
    (!parts.is_empty()).then(|| reader.message(Role::System, parts, fields))
}

fn parts(parts: Option<&str>, reader: &mut Reader) -> Vec<Part> {
    match parts.and_then(json::elements) {
        Some(list) => list.into_iter().filter_map(|part| self::part(part, reader)).collect(),
        None => {
            reader
                .note(WarningKind::NullContent, phrase!("warning-missing-parts", "missing parts"));
            Vec::new()
        }
    }
}

fn part(json: &str, reader: &mut Reader) -> Option<Part> {
    let opaque = || Some(Body::Opaque(Opaque::new(Wire::GEMINI, json)).into());
    let Some(mut fields) = Fields::parse(json) else { return opaque() };
    // A signature may come with an empty text at the end of a stream; keep it unchanged.
    if fields.get("text") == Some("\"\"") && fields.get("thoughtSignature").is_some() {
        return opaque();
    }
    if fields.len() == 1 && fields.get("text").is_some_and(json::is_null) {
        reader.note(
            WarningKind::NullContent,
            phrase!("warning-null-text", "a null text part was omitted"),
        );
        return None;
    }
    let body = if let Some(call) =
        either(&fields, "functionCall", "function_call").and_then(Fields::parse)
    {
        fields.take("functionCall");
        fields.take("function_call");
        self::call(call, reader)
    } else if let Some(response) =
        either(&fields, "functionResponse", "function_response").and_then(Fields::parse)
    {
        fields.take("functionResponse");
        fields.take("function_response");
        result(response, reader)
    } else if let Some(data) = either(&fields, "inlineData", "inline_data").and_then(Fields::parse)
    {
        match image(&data) {
            Some(image) => {
                fields.take("inlineData");
                fields.take("inline_data");
                Body::Image(image)
            }
            None => return opaque(),
        }
    } else if fields.get("text").is_some_and(|text| json::string(text).is_some()) {
        let text = reader.take(&mut fields, "text").unwrap_or_default();
        if fields.get("thought") == Some("true") {
            Body::Thinking(Thinking { text, signature: None })
        } else if text.is_empty() && fields.is_empty() {
            reader.note(
                WarningKind::BlankText,
                phrase!("warning-empty-text", "an empty text was omitted"),
            );
            return None;
        } else {
            Body::Text(text)
        }
    } else {
        return opaque();
    };
    Some(Part::new(body, fields.into_rest()))
}

/// Returns a field under either of its names: the API accepts both.
fn either<'a>(fields: &Fields<'a>, camel: &str, snake: &str) -> Option<&'a str> {
    fields.get(camel).or_else(|| fields.get(snake))
}

fn image(data: &Fields<'_>) -> Option<Image> {
    let string_field = |name: &str| data.get(name).and_then(json::string).map(|lossy| lossy.text);
    let media = string_field("mimeType")
        .or_else(|| string_field("mime_type"))
        .filter(|media| media.starts_with("image/"))?;
    Some(Image::Inline { media, data: string_field("data")? })
}

fn call(mut call: Fields<'_>, reader: &mut Reader) -> Body {
    let id = reader.take(&mut call, "id").unwrap_or_default();
    let name = reader.take(&mut call, "name").unwrap_or_default();
    let arguments =
        call.take("args").filter(|args| !json::is_null(args)).unwrap_or("{}").to_owned();
    Body::Call(ToolCall { id, name, arguments })
}

fn result(mut response: Fields<'_>, reader: &mut Reader) -> Body {
    let call_id = reader.take(&mut response, "id").unwrap_or_default();
    let name = reader.take(&mut response, "name");
    if name.is_none() {
        reader.note(
            WarningKind::MissingId,
            phrase!("warning-response-name", "a response without a tool name"),
        );
    }
    let answer = response.take("response").unwrap_or("{}");
    let fields = Fields::parse(answer).unwrap_or_default();
    let is_error = fields.get("error").is_some_and(|error| !json::is_null(error));
    let plain = ["output", "result", "content", "error"]
        .into_iter()
        .find_map(|key| fields.get(key).and_then(json::string));
    let text = match plain.filter(|_| fields.len() == 1) {
        Some(lossy) => reader.text(lossy),
        None => answer.to_owned(),
    };
    let parts = if text.is_empty() { Vec::new() } else { vec![Part::text(text)] };
    Body::Result(ToolResult { call_id, name, parts, is_error })
}
