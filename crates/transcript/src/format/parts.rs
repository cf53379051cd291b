//! Helpers that several formats share: message parts, counts and times from JSON values.

use serde_json::Value;
use waterline::message::{Body, Image, Part, Thinking, ToolCall, ToolResult};

/// Returns a string value that is not empty.
pub(super) fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// Like [`text`], but owned.
pub(super) fn string(value: &Value) -> Option<String> {
    text(value).map(str::to_owned)
}

/// Creates a tool call. Arguments that are a string are kept as they are.
pub(super) fn call(id: &Value, name: &Value, arguments: &Value) -> Part {
    let arguments = match arguments {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let or_empty = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Body::Call(ToolCall { id: or_empty(id), name: or_empty(name), arguments }).into()
}

/// Creates the result of a call.
pub(super) fn result(call_id: &Value, parts: Vec<Part>, is_error: bool) -> Part {
    let call_id = call_id.as_str().unwrap_or_default().to_owned();
    Body::Result(ToolResult { call_id, name: None, parts, is_error }).into()
}

/// Creates a thinking part.
pub(super) fn thinking(text: &str, signature: Option<String>) -> Part {
    Body::Thinking(Thinking { text: text.to_owned(), signature }).into()
}

/// Creates an inline image.
pub(super) fn image(media: &Value, data: &Value) -> Option<Part> {
    Some(Body::Image(Image::Inline { media: string(media)?, data: string(data)? }).into())
}

/// Creates an image from its URL, which may be a `data:` URL.
pub(super) fn image_at(url: &str) -> Part {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let image = match inline {
        Some((media, data)) => Image::Inline { media: media.to_owned(), data: data.to_owned() },
        None => Image::Url(url.to_owned()),
    };
    Body::Image(image).into()
}

/// Returns the text parts of a string, a list of strings, or a list of `{"text"}` objects.
pub(super) fn texts(value: &Value) -> Vec<Part> {
    match value {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![Part::text(text)],
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.get("text").map(texts).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Returns a token count, or 0.
pub(super) fn count(value: &Value) -> usize {
    value.as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
}

/// Returns an ISO time or a number of milliseconds as seconds since 1970.
pub(super) fn time(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second),
        Value::Number(number) => number.as_i64().map(|milliseconds| milliseconds / 1_000),
        _ => None,
    }
}
