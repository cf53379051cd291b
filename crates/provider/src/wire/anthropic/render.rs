//! Neutral messages to Anthropic's: the user first, then alternating roles, with all results of a
//! step in one message before any text.

use waterline::json::{self, Fields};
use waterline::message::{Body, Form, Image, Message, Part, Role, ToolCall, ToolResult, Wire};

use super::is_compaction;
use crate::wire::read::kind;
use crate::wire::rendered::{Json, Rendered};

/// The user message that precedes a conversation starting with the assistant, which this wire does
/// not allow.
const OPENING: &str = "(the conversation starts with an assistant message)";

/// The content of a failed result that has none, which this wire does not allow.
const FAILED: &str = "[the tool failed without output]";

pub(super) fn render(messages: &[&Message]) -> Rendered {
    let lead = messages.iter().take_while(|message| message.role == Role::System).count();
    let (systems, body) = messages.split_at(lead);
    let mut groups: Vec<Group<'_>> = Vec::new();
    // A message that is empty on this wire must not separate two of the same role.
    for message in
        body.iter().filter(|message| as_received(message).is_some() || !blocks(message).is_empty())
    {
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        match groups.last_mut().filter(|group| group.role == role) {
            Some(group) => group.messages.push(message),
            None => groups.push(Group { role, messages: vec![message] }),
        }
    }
    let opening = groups.first().is_some_and(Group::needs_opening).then(opening);
    let written = opening.into_iter().chain(groups.iter().map(Group::write)).collect();
    Rendered { system: system(systems), messages: written }
}

/// Adjacent messages of one role.
struct Group<'a> {
    role: &'static str,
    messages: Vec<&'a Message>,
}

impl Group<'_> {
    /// The user must come first, unless the first block is a compaction made by the provider.
    fn needs_opening(&self) -> bool {
        let first = self.messages.first().and_then(|message| message.parts.first());
        let compaction = first.is_some_and(|part| match &part.body {
            Body::Opaque(opaque) => is_compaction(&opaque.json),
            _ => false,
        });
        self.role == "assistant" && !compaction
    }

    fn write(&self) -> Json {
        if let [only] = self.messages.as_slice()
            && let Some(raw) = as_received(only)
        {
            return raw;
        }
        let blocks = self.messages.iter().flat_map(|message| blocks(message));
        let (results, rest): (Vec<_>, Vec<_>) = blocks.partition(|(is_result, _)| *is_result);
        let blocks: Vec<String> = results.into_iter().chain(rest).map(|(_, json)| json).collect();
        let extra = match self.messages.as_slice() {
            [only] if is_native(only) => only.extra.as_slice(),
            _ => &[],
        };
        let fields = [
            ("role".to_owned(), json::quote(self.role)),
            ("content".to_owned(), json::array(blocks)),
        ];
        Json::made(json::object(fields.into_iter().chain(extra.iter().cloned())))
    }
}

fn as_received(message: &Message) -> Option<Json> {
    let raw = message
        .raw
        .as_ref()
        .filter(|raw| message.form == Form::AsReceived && raw.wire() == Wire::ANTHROPIC)?;
    let ids =
        message.calls().map(|call| &call.id).chain(message.results().map(|result| &result.call_id));
    let safe = ids.into_iter().all(|id| safe_id(id) == *id)
        && !message.results().any(is_failure_without_output)
        && !message.parts.iter().any(is_unsigned);
    // A system message in the middle is sent as a tagged user text.
    (safe && message.role != Role::System).then(|| Json::Raw(raw.clone()))
}

fn is_native(message: &Message) -> bool {
    message.raw.as_ref().is_some_and(|raw| raw.wire() == Wire::ANTHROPIC)
}

fn opening() -> Json {
    let content = json::array([text_block(OPENING)]);
    Json::made(json::object([("role", json::quote("user")), ("content", content)]))
}

fn system(systems: &[&Message]) -> Option<Json> {
    if let [only] = systems
        && only.form == Form::AsReceived
        && let Some(raw) = only.raw.as_ref().filter(|raw| raw.wire() == Wire::ANTHROPIC)
        // A system message from the list is an object, not a system prompt.
        && !raw.as_str().starts_with('{')
    {
        return Some(Json::Raw(raw.clone()));
    }
    let blocks: Vec<String> = systems.iter().flat_map(|message| blocks_of_text(message)).collect();
    (!blocks.is_empty()).then(|| Json::made(json::array(blocks)))
}

fn blocks_of_text(message: &Message) -> Vec<String> {
    let texts = message.parts.iter().filter(|part| matches!(part.body, Body::Text(_)));
    texts.filter_map(|part| write_block(part, is_native(message))).collect()
}

fn text_block(text: &str) -> String {
    json::object([("type", json::quote("text")), ("text", json::quote(text))])
}

/// Renders the blocks of a message, each with whether it is a result.
fn blocks(message: &Message) -> Vec<(bool, String)> {
    if message.role == Role::System {
        let marked = format!("<system-message>\n{}\n</system-message>", message.text());
        return vec![(false, text_block(&marked))];
    }
    if let Some(raw) = as_received(message) {
        return raw_blocks(raw.as_str());
    }
    let native = is_native(message);
    let written = message.parts.iter().filter_map(|part| {
        let json = write_block(part, native)?;
        Some((matches!(part.body, Body::Result(_)), json))
    });
    written.collect()
}

/// Renders a block with its extra fields.
fn write_block(part: &Part, native: bool) -> Option<String> {
    let extra =
        part.extra.iter().filter(|_| native).map(|(key, value)| (key.as_str(), value.clone()));
    Some(match block(part, native)? {
        Block::Fields(fields) => json::object(fields.into_iter().chain(extra)),
        Block::Whole(json) => json,
    })
}

/// Returns the original blocks of a message. Merged with an adjacent message, they must keep the
/// same bytes.
fn raw_blocks(json: &str) -> Vec<(bool, String)> {
    let Some(fields) = Fields::parse(json) else { return Vec::new() };
    let content = fields.get("content").unwrap_or("[]");
    if let Some(text) = json::string(content) {
        return vec![(false, text_block(&text.text))];
    }
    let is_result =
        |block: &str| Fields::parse(block).is_some_and(|fields| kind(&fields) == "tool_result");
    json::elements(content)
        .unwrap_or_default()
        .into_iter()
        .map(|block| (is_result(block), block.to_owned()))
        .collect()
}

enum Block {
    Fields(Vec<(&'static str, String)>),
    Whole(String),
}

fn block(part: &Part, native: bool) -> Option<Block> {
    let kind = |name: &str| ("type", json::quote(name));
    let fields = match &part.body {
        Body::Text(text) if text.trim().is_empty() => return None,
        Body::Text(text) => vec![kind("text"), ("text", json::quote(text))],
        // Thinking from another wire, or without a signature, would be rejected.
        Body::Thinking(_) if !native => return None,
        Body::Thinking(_) if part.extra.iter().any(|(key, _)| key == "data") => {
            vec![kind("redacted_thinking")]
        }
        Body::Thinking(thinking) => {
            let signature = thinking.signature.as_ref()?;
            vec![
                kind("thinking"),
                ("thinking", json::quote(&thinking.text)),
                ("signature", json::quote(signature)),
            ]
        }
        Body::Image(image) => vec![kind("image"), ("source", source(image))],
        Body::Call(call) => self::call(call),
        Body::Result(result) => self::result(result, native),
        Body::Opaque(opaque) if opaque.wire == Wire::ANTHROPIC => {
            return Some(Block::Whole(opaque.json.clone()));
        }
        Body::Opaque(_) => return None,
    };
    Some(Block::Fields(fields))
}

fn call(call: &ToolCall) -> Vec<(&'static str, String)> {
    let input =
        if json::is_object(&call.arguments) { call.arguments.clone() } else { "{}".to_owned() };
    vec![
        ("type", json::quote("tool_use")),
        ("id", json::quote(&safe_id(&call.id))),
        ("name", json::quote(&call.name)),
        ("input", input),
    ]
}

fn result(result: &ToolResult, native: bool) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("type", json::quote("tool_result")),
        ("tool_use_id", json::quote(&safe_id(&result.call_id))),
    ];
    let inner: Vec<String> =
        result.parts.iter().filter_map(|part| write_block(part, native)).collect();
    match result.parts.as_slice() {
        [Part { body: Body::Text(text), extra, .. }]
            if !text.trim().is_empty() && extra.is_empty() =>
        {
            fields.push(("content", json::quote(text)));
        }
        _ if !inner.is_empty() => fields.push(("content", json::array(inner))),
        // A failed result must have content.
        _ if result.is_error => fields.push(("content", json::quote(FAILED))),
        _ => {}
    }
    if result.is_error {
        fields.push(("is_error", "true".to_owned()));
    }
    fields
}

fn source(image: &Image) -> String {
    match image {
        Image::Inline { media, data } => json::object([
            ("type", json::quote("base64")),
            ("media_type", json::quote(media)),
            ("data", json::quote(data)),
        ]),
        Image::Url(url) => json::object([("type", json::quote("url")), ("url", json::quote(url))]),
    }
}

/// Whether a part is thinking without a signature, which this wire rejects.
fn is_unsigned(part: &Part) -> bool {
    let redacted = part.extra.iter().any(|(key, _)| key == "data");
    matches!(&part.body, Body::Thinking(thinking) if thinking.signature.is_none() && !redacted)
}

/// Whether a result is a failure without content, which this wire rejects.
fn is_failure_without_output(result: &ToolResult) -> bool {
    result.is_error
        && !result
            .parts
            .iter()
            .any(|part| !matches!(&part.body, Body::Text(text) if text.trim().is_empty()))
}

/// Replaces characters in ids of other wires that this wire rejects.
fn safe_id(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.chars().all(fits) {
        return id.to_owned();
    }
    // The checksum distinguishes ids that differ only in the replaced characters.
    let checksum = id
        .bytes()
        .fold(0_u32, |checksum, byte| checksum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    let plain: String = id.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    format!("{plain}_{checksum:08x}")
}
