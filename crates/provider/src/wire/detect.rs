//! Detects the wire of a conversation by the marks of each format.

use waterline::json::{self, Fields};
use waterline::message::Wire;

use super::format::Format;
use super::list::formats;
use super::read::kind;

/// Detects the wire of a request body.
pub(super) fn body(fields: &Fields<'_>) -> Option<Wire> {
    let formats = formats();
    // Rarer names first: most formats call the list "messages".
    let list_field = formats
        .iter()
        .rev()
        .map(|format| format.list_field())
        .find(|name| fields.get(name).is_some())?;
    let candidates: Vec<&dyn Format> =
        formats.iter().copied().filter(|format| format.list_field() == list_field).collect();
    let has_mark =
        |format: &&&dyn Format| format.marks().body.iter().any(|name| fields.get(name).is_some());
    if let Some(format) = candidates.iter().find(has_mark) {
        return Some(format.wire());
    }
    let messages = fields.get(list_field)?;
    let detected = json::elements(messages)
        .and_then(|list| list.iter().find_map(|json| message(&formats, json)));
    if let Some(format) = candidates.iter().find(|format| detected == Some(format.wire())) {
        return Some(format.wire());
    }
    // A body of plain texts fits several formats; the name of the model decides.
    let model =
        fields.get("model").and_then(json::string).map(|lossy| lossy.text).unwrap_or_default();
    let is_addressed = |format: &&&dyn Format| {
        format.required_limit().is_some_and(|limit| fields.get(limit).is_some())
            && format.model_prefixes().iter().any(|prefix| model.starts_with(prefix))
    };
    let is_neutral = detected.is_none()
        && !messages.contains("\"tool_calls\"")
        && !messages.contains("\"system\"");
    let addressed = candidates.iter().filter(|_| is_neutral).find(is_addressed);
    addressed.or(candidates.first()).map(|format| format.wire())
}

/// Detects the wire of a bare list of messages.
pub(super) fn list(messages: &[&str]) -> Wire {
    let formats = formats();
    messages.iter().find_map(|json| message(&formats, json)).unwrap_or(Wire::OPENAI_CHAT)
}

/// Detects the wire of one message, if it has a mark of only one wire.
fn message(formats: &[&'static dyn Format], json: &str) -> Option<Wire> {
    let fields = Fields::parse(json)?;
    let find = |has: &dyn Fn(&&dyn Format) -> bool| {
        formats.iter().find(|format| has(format)).map(|format| format.wire())
    };
    let is_there = |name: &&str| fields.get(name).is_some_and(|value| !json::is_null(value));
    if let Some(wire) = find(&|format| format.marks().message.iter().any(&is_there)) {
        return Some(wire);
    }
    // An Anthropic reply that was stored whole has a type too, so look at its blocks first.
    let blocks = fields.get("content").and_then(json::elements).unwrap_or_default();
    let detected = blocks.into_iter().find_map(|part| {
        let kind = kind(&Fields::parse(part)?);
        find(&|format| format.marks().blocks.contains(&kind.as_str()))
    });
    let is_typed = !matches!(kind(&fields).as_str(), "" | "message");
    detected.or_else(|| find(&|format| is_typed && format.marks().typed_messages))
}
