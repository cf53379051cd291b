//! Anthropic messages to neutral ones.

use waterline::json::{self, Fields};
use waterline::message::{
    Body, Image, Message, Opaque, Part, Role, Thinking, ToolCall, ToolResult, Wire,
};
use waterline::phrase;
use waterline::warning::WarningKind;

use crate::wire::read::{Reader, Refusal, kind, object};

pub(super) fn message(json: &str, reader: &mut Reader) -> Result<Message, Refusal> {
    let mut fields = object(json)?;
    let name = reader
        .take(&mut fields, "role")
        .ok_or_else(|| Refusal::new(phrase!("parse-missing-role", "missing role")))?;
    let parts = reader.content(fields.take("content"), block);
    let only_results =
        !parts.is_empty() && parts.iter().all(|part| matches!(part.body, Body::Result(_)));
    let role = match name.as_str() {
        "user" if only_results => Role::Tool,
        "user" => Role::User,
        "assistant" => Role::Assistant,
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
    let parts = reader.content(Some(json), block);
    (!parts.is_empty()).then(|| reader.message(Role::System, parts, Fields::default()))
}

fn block(json: &str, reader: &mut Reader) -> Option<Part> {
    let opaque = || Some(Body::Opaque(Opaque::new(Wire::ANTHROPIC, json)).into());
    let Some(mut fields) = Fields::parse(json) else {
        reader.note(
            WarningKind::NullContent,
            phrase!("warning-block-omitted", "a block that is not an object was omitted"),
        );
        return None;
    };
    let kind = kind(&fields);
    let body = match kind.as_str() {
        "text" => {
            let text = reader.take(&mut fields, "text").unwrap_or_default();
            if text.is_empty() {
                reader.note(
                    WarningKind::BlankText,
                    phrase!("warning-text-block-omitted", "an empty text block was omitted"),
                );
                return None;
            }
            Body::Text(text)
        }
        "thinking" => {
            let text = reader.take(&mut fields, "thinking").unwrap_or_default();
            // Only a redacted block has data: that is how it is recognized.
            fields.take("data");
            Body::Thinking(Thinking { text, signature: reader.take(&mut fields, "signature") })
        }
        // The data stays in the extra fields: it distinguishes the block from plain thinking.
        "redacted_thinking" => Body::Thinking(Thinking::default()),
        "image" => match image(&fields) {
            Some(image) => {
                fields.take("source");
                Body::Image(image)
            }
            None => return opaque(),
        },
        "tool_use" => call(&mut fields, reader),
        "tool_result" => result(&mut fields, reader),
        _ => return opaque(),
    };
    fields.take("type");
    Some(Part::new(body, fields.into_rest()))
}

fn image(fields: &Fields<'_>) -> Option<Image> {
    let source = fields.get("source").and_then(Fields::parse)?;
    let string_field = |name: &str| source.get(name).and_then(json::string).map(|lossy| lossy.text);
    match string_field("type")?.as_str() {
        "base64" => {
            Some(Image::Inline { media: string_field("media_type")?, data: string_field("data")? })
        }
        "url" => Some(Image::Url(string_field("url")?)),
        _ => None,
    }
}

fn call(fields: &mut Fields<'_>, reader: &mut Reader) -> Body {
    let id = reader.take(fields, "id").unwrap_or_default();
    let name = reader.take(fields, "name").unwrap_or_default();
    let arguments = fields.take("input").map(str::to_owned).unwrap_or_else(|| {
        reader.note(WarningKind::BadArguments, phrase!("warning-no-input", "a call without input"));
        "{}".to_owned()
    });
    Body::Call(ToolCall { id, name, arguments })
}

fn result(fields: &mut Fields<'_>, reader: &mut Reader) -> Body {
    let call_id = reader.take(fields, "tool_use_id").unwrap_or_default();
    let is_error = fields.take("is_error") == Some("true");
    let parts = match fields.take("content").filter(|content| !json::is_null(content)) {
        Some(inner) => reader.content(Some(inner), block),
        None => Vec::new(),
    };
    Body::Result(ToolResult { call_id, name: None, parts, is_error })
}
