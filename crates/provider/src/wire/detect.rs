//! Which wire a conversation is written in, told from its content.

use waterline::json::{self, Fields};
use waterline::message::Wire;

use super::read::kind;

/// The wire of a request body.
pub(super) fn body(fields: &Fields<'_>) -> Option<Wire> {
    if fields.get("contents").is_some() {
        return Some(Wire::Gemini);
    }
    if fields.get("input").is_some() && fields.get("messages").is_none() {
        return Some(Wire::OpenaiResponses);
    }
    let messages = fields.get("messages")?;
    if fields.get("system").is_some() || fields.get("anthropic_version").is_some() {
        return Some(Wire::Anthropic);
    }
    // Under this name only two wires keep their list.
    let found = json::elements(messages).map_or(Wire::OpenaiChat, |list| self::list(&list));
    let found = if found == Wire::Anthropic { found } else { Wire::OpenaiChat };
    let model = fields.get("model").and_then(json::string).map(|loose| loose.text).unwrap_or_default();
    // A body of plain texts fits both; what it is addressed to decides.
    let addressed = model.starts_with("claude") && fields.get("max_tokens").is_some();
    let neutral = found == Wire::OpenaiChat && !messages.contains("\"tool_calls\"") && !messages.contains("\"system\"");
    Some(if addressed && neutral { Wire::Anthropic } else { found })
}

/// The wire of a bare list of messages.
pub(super) fn list(messages: &[&str]) -> Wire {
    messages.iter().find_map(|json| message(json)).unwrap_or(Wire::OpenaiChat)
}

/// The wire of one message, if it has something that only one wire has.
fn message(json: &str) -> Option<Wire> {
    let fields = Fields::parse(json)?;
    if fields.get("parts").is_some() {
        return Some(Wire::Gemini);
    }
    if fields.get("tool_calls").is_some_and(|calls| !json::is_null(calls)) || fields.get("tool_call_id").is_some() {
        return Some(Wire::OpenaiChat);
    }
    // An Anthropic reply that was stored whole has a type too: its blocks tell more.
    let blocks = fields.get("content").and_then(json::elements).unwrap_or_default();
    let told = blocks.into_iter().find_map(|part| match kind(&Fields::parse(part)?).as_str() {
        "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "image" | "document" => Some(Wire::Anthropic),
        "input_text" | "output_text" | "input_image" => Some(Wire::OpenaiResponses),
        "image_url" | "input_audio" => Some(Wire::OpenaiChat),
        _ => None,
    });
    told.or_else(|| (!matches!(kind(&fields).as_str(), "" | "message")).then_some(Wire::OpenaiResponses))
}
