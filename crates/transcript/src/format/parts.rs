//! Pieces that several formats share: parts of messages from JSON values, and times.

use serde_json::Value;
use waterline::message::{Body, Image, Part, Thinking, ToolCall, ToolResult};

/// A text of a field; nothing where it is none or empty.
pub(super) fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// A text of a field as its own.
pub(super) fn word(value: &Value) -> Option<String> {
    text(value).map(str::to_owned)
}

/// A call; arguments that are a text are taken as they are.
pub(super) fn call(id: &Value, name: &Value, arguments: &Value) -> Part {
    let arguments = match arguments {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Body::Call(ToolCall { id: word(id), name: word(name), arguments }).into()
}

/// The answer to a call.
pub(super) fn result(call_id: &Value, parts: Vec<Part>, is_error: bool) -> Part {
    let call_id = call_id.as_str().unwrap_or_default().to_owned();
    Body::Result(ToolResult { call_id, name: None, parts, is_error }).into()
}

/// Reasoning.
pub(super) fn thinking(text: &str, signature: Option<String>) -> Part {
    Body::Thinking(Thinking { text: text.to_owned(), signature }).into()
}

/// A picture by value.
pub(super) fn picture(media: &Value, data: &Value) -> Option<Part> {
    let (media, data) = (word(media)?, word(data)?);
    Some(Body::Image(Image::Inline { media, data }).into())
}

/// A picture by its address, which may carry it.
pub(super) fn picture_at(url: &str) -> Part {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let image = match inline {
        Some((media, data)) => Image::Inline { media: media.to_owned(), data: data.to_owned() },
        None => Image::Url(url.to_owned()),
    };
    Body::Image(image).into()
}

/// Text parts of a field that is a text, a list of texts, or a list of `{"text"}`.
pub(super) fn texts(value: &Value) -> Vec<Part> {
    match value {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![Part::text(text)],
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.get("text").map(texts).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// A count of tokens.
pub(super) fn count(value: &Value) -> usize {
    value.as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
}

/// Seconds since 1970 of an ISO time, or of a number of milliseconds.
pub(super) fn time(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second),
        Value::Number(number) => number.as_i64().map(|milliseconds| milliseconds / 1_000),
        _ => None,
    }
}
