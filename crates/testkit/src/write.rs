//! Writes generated conversations as the JSON of each wire, independently of the code under test.

use serde_json::Value;
use waterline::message::Wire;

use crate::generate::{CallEvent, Content, Event};

/// Writes a conversation as a request body of a wire.
#[must_use]
pub fn body(wire: Wire, events: &[Event]) -> String {
    let list: Vec<String> = match wire.name() {
        "anthropic" => anthropic(events),
        _ => events.iter().flat_map(|event| messages(wire, event)).collect(),
    };
    let name = match wire.name() {
        "openai-chat" | "anthropic" => "messages",
        "openai-responses" => "input",
        _ => "contents",
    };
    format!("{{\"id\":\"generated\",\"{name}\":[{}]}}", list.join(","))
}

/// Writes Anthropic messages. Adjacent results share a message, sometimes with the text after them,
/// as real clients do it.
fn anthropic(events: &[Event]) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let close = |open: &mut Vec<String>, list: &mut Vec<String>| {
        if !open.is_empty() {
            list.push(format!(r#"{{"role":"user","content":[{}]}}"#, open.join(",")));
            open.clear();
        }
    };
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Result { id, content, is_error, .. } => {
                if at % 5 == 0 {
                    close(&mut open, &mut list);
                }
                open.push(result_block(id, content, *is_error));
            }
            Event::User(content) if !open.is_empty() && at % 3 == 0 => {
                open.push(format!(r#"{{"type":"text","text":{}}}"#, content_json(content)));
                close(&mut open, &mut list);
            }
            _ => {
                close(&mut open, &mut list);
                list.push(blocks(event));
            }
        }
    }
    close(&mut open, &mut list);
    list
}

fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

fn content_json(content: &Content) -> String {
    match content {
        Content::Text(text) => quote(text),
        Content::Null => "null".to_owned(),
        Content::Surrogate => r#""half \ud83d of a pair""#.to_owned(),
    }
}

fn messages(wire: Wire, event: &Event) -> Vec<String> {
    match wire.name() {
        "openai-chat" => vec![chat(event)],
        "openai-responses" => items(event),
        "anthropic" => vec![blocks(event)],
        _ => vec![contents(event)],
    }
}

fn chat(event: &Event) -> String {
    match event {
        Event::System(content) => {
            format!(r#"{{"role":"system","content":{}}}"#, content_json(content))
        }
        Event::User(content) => {
            format!(r#"{{"role":"user","content":{},"x":1.0}}"#, content_json(content))
        }
        Event::Image(content) => {
            let url = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}"#;
            format!(
                r#"{{"role":"user","content":[{{"type":"text","text":{}}},{url}]}}"#,
                content_json(content)
            )
        }
        Event::WireSpecific => {
            r#"{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}"#.to_owned()
        }
        Event::Assistant { thinking, content, calls } => {
            let thinking = thinking
                .as_ref()
                .map_or_else(String::new, |text| format!(",\"reasoning_content\":{}", quote(text)));
            let written: Vec<String> = calls.iter().map(chat_call).collect();
            let list = if written.is_empty() {
                String::new()
            } else {
                format!(",\"tool_calls\":[{}]", written.join(","))
            };
            format!(r#"{{"role":"assistant","content":{}{thinking}{list}}}"#, content_json(content))
        }
        Event::Result { id, content, is_error, .. } => {
            format!(
                r#"{{"role":"tool","tool_call_id":{},"content":{},"is_error":{is_error}}}"#,
                quote(id),
                content_json(content)
            )
        }
    }
}

fn chat_call(call: &CallEvent) -> String {
    format!(
        r#"{{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}}"#,
        quote(&call.id),
        quote(&call.name),
        quote(&call.arguments)
    )
}

fn blocks(event: &Event) -> String {
    let block =
        |content: &Content| format!(r#"{{"type":"text","text":{}}}"#, content_json(content));
    match event {
        Event::System(content) => format!(r#"{{"role":"system","content":[{}]}}"#, block(content)),
        Event::User(content) => format!(r#"{{"role":"user","content":{}}}"#, content_json(content)),
        Event::Image(content) => {
            let image = concat!(
                r#"{"type":"image","source":{"type":"base64","media_type":"image/png","#,
                r#""data":"AAAA"}}"#
            );
            format!(r#"{{"role":"user","content":[{},{image}]}}"#, block(content))
        }
        Event::WireSpecific => {
            r#"{"role":"user","content":[{"type":"document","source":{}}]}"#.to_owned()
        }
        Event::Assistant { thinking, content, calls } => {
            let thinking = thinking.iter().map(|text| {
                format!(r#"{{"type":"thinking","thinking":{},"signature":"sig"}}"#, quote(text))
            });
            let calls = calls.iter().map(|call| {
                let input = if call.arguments.starts_with('{') {
                    call.arguments.clone()
                } else {
                    "{}".to_owned()
                };
                format!(
                    r#"{{"type":"tool_use","id":{},"name":{},"input":{input}}}"#,
                    quote(&call.id),
                    quote(&call.name)
                )
            });
            let list: Vec<String> = thinking.chain([block(content)]).chain(calls).collect();
            format!(r#"{{"role":"assistant","content":[{}]}}"#, list.join(","))
        }
        Event::Result { id, content, is_error, .. } => {
            let result = result_block(id, content, *is_error);
            format!(r#"{{"role":"user","content":[{result}]}}"#)
        }
    }
}

fn result_block(id: &str, content: &Content, is_error: bool) -> String {
    format!(
        r#"{{"type":"tool_result","tool_use_id":{},"content":{},"is_error":{is_error}}}"#,
        quote(id),
        content_json(content)
    )
}

fn items(event: &Event) -> Vec<String> {
    let message = |role: &str, content: &Content| {
        format!(r#"{{"type":"message","role":"{role}","content":{}}}"#, content_json(content))
    };
    match event {
        Event::System(content) => vec![message("developer", content)],
        Event::User(content) => vec![message("user", content)],
        Event::Image(content) => {
            let image = r#"{"type":"input_image","image_url":"data:image/png;base64,AAAA"}"#;
            let text = format!(r#"{{"type":"input_text","text":{}}}"#, content_json(content));
            vec![format!(r#"{{"type":"message","role":"user","content":[{text},{image}]}}"#)]
        }
        Event::WireSpecific => {
            vec![r#"{"type":"web_search_call","id":"ws_1","status":"completed"}"#.to_owned()]
        }
        Event::Assistant { thinking, content, calls } => {
            let thinking = thinking.iter().map(|_| {
                r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"secret"}"#
                    .to_owned()
            });
            let calls = calls.iter().map(|call| {
                format!(
                    r#"{{"type":"function_call","id":"fc_1","call_id":{},"name":{},"arguments":{}}}"#,
                    quote(&call.id),
                    quote(&call.name),
                    quote(&call.arguments)
                )
            });
            thinking.chain([message("assistant", content)]).chain(calls).collect()
        }
        Event::Result { id, content, .. } => {
            vec![format!(
                r#"{{"type":"function_call_output","call_id":{},"output":{}}}"#,
                quote(id),
                content_json(content)
            )]
        }
    }
}

fn contents(event: &Event) -> String {
    let part = |content: &Content| format!(r#"{{"text":{}}}"#, content_json(content));
    match event {
        Event::System(content) | Event::User(content) => {
            format!(r#"{{"role":"user","parts":[{}]}}"#, part(content))
        }
        Event::Image(content) => {
            let image = r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"}}"#;
            format!(r#"{{"role":"user","parts":[{},{image}]}}"#, part(content))
        }
        Event::WireSpecific => {
            r#"{"role":"user","parts":[{"fileData":{"fileUri":"files/1"}}]}"#.to_owned()
        }
        Event::Assistant { thinking, content, calls } => {
            let thinking =
                thinking.iter().map(|text| format!(r#"{{"text":{},"thought":true}}"#, quote(text)));
            let calls = calls.iter().map(|call| {
                let args = if call.arguments.starts_with('{') {
                    call.arguments.clone()
                } else {
                    "{}".to_owned()
                };
                format!(
                    r#"{{"functionCall":{{{}"name":{},"args":{args}}},"thoughtSignature":"sig"}}"#,
                    gemini_id(&call.id),
                    quote(&call.name)
                )
            });
            let list: Vec<String> = thinking.chain([part(content)]).chain(calls).collect();
            format!(r#"{{"role":"model","parts":[{}]}}"#, list.join(","))
        }
        Event::Result { id, name, content, .. } => {
            let id = gemini_id(id);
            let name = quote(name);
            let response = format!(
                r#"{{{id}"name":{name},"response":{{"output":{}}}}}"#,
                content_json(content)
            );
            format!(r#"{{"role":"user","parts":[{{"functionResponse":{response}}}]}}"#)
        }
    }
}

/// Returns the id field for Gemini, where most calls have none.
fn gemini_id(id: &str) -> String {
    if id.ends_with(['1', '2']) { format!(r#""id":{},"#, quote(id)) } else { String::new() }
}
