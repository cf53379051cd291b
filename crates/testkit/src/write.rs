//! Generated conversations as the JSON of each wire, written plainly and apart from the code under
//! test.

use serde_json::Value;
use waterline::message::Wire;

use crate::generate::{CallEvent, Event, Words};

/// The conversation as a request body of a wire.
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

/// Results that stand side by side share a message, sometimes with the words behind them, as real
/// clients write it.
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
            Event::Result { id, words, is_error, .. } => {
                if at % 5 == 0 {
                    close(&mut open, &mut list);
                }
                let (id, content) = (quote(id), words_json(words));
                open.push(format!(
                    r#"{{"type":"tool_result","tool_use_id":{id},"content":{content},"is_error":{is_error}}}"#
                ));
            }
            Event::User(words) if !open.is_empty() && at % 3 == 0 => {
                open.push(format!(r#"{{"type":"text","text":{}}}"#, words_json(words)));
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

fn words_json(words: &Words) -> String {
    match words {
        Words::Text(text) => quote(text),
        Words::Null => "null".to_owned(),
        Words::Surrogate => r#""half \ud83d of a pair""#.to_owned(),
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
        Event::System(words) => format!(r#"{{"role":"system","content":{}}}"#, words_json(words)),
        Event::User(words) => {
            format!(r#"{{"role":"user","content":{},"x":1.0}}"#, words_json(words))
        }
        Event::Picture(words) => {
            let url = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}"#;
            format!(
                r#"{{"role":"user","content":[{{"type":"text","text":{}}},{url}]}}"#,
                words_json(words)
            )
        }
        Event::Own => {
            r#"{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}"#.to_owned()
        }
        Event::Assistant { thinking, words, calls } => {
            let thinking = thinking
                .as_ref()
                .map_or_else(String::new, |text| format!(",\"reasoning_content\":{}", quote(text)));
            let list: Vec<String> = calls.iter().map(chat_call).collect();
            let list = if list.is_empty() {
                String::new()
            } else {
                format!(",\"tool_calls\":[{}]", list.join(","))
            };
            format!(r#"{{"role":"assistant","content":{}{thinking}{list}}}"#, words_json(words))
        }
        Event::Result { id, words, is_error, .. } => {
            format!(
                r#"{{"role":"tool","tool_call_id":{},"content":{},"is_error":{is_error}}}"#,
                quote(id),
                words_json(words)
            )
        }
    }
}

fn chat_call(call: &CallEvent) -> String {
    let (id, arguments) = (quote(&call.id), quote(&call.arguments));
    format!(
        r#"{{"id":{id},"type":"function","function":{{"name":{},"arguments":{arguments}}}}}"#,
        quote(&call.name)
    )
}

fn blocks(event: &Event) -> String {
    let block = |words: &Words| format!(r#"{{"type":"text","text":{}}}"#, words_json(words));
    match event {
        Event::System(words) => format!(r#"{{"role":"system","content":[{}]}}"#, block(words)),
        Event::User(words) => format!(r#"{{"role":"user","content":{}}}"#, words_json(words)),
        Event::Picture(words) => {
            let picture = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}"#;
            format!(r#"{{"role":"user","content":[{},{picture}]}}"#, block(words))
        }
        Event::Own => r#"{"role":"user","content":[{"type":"document","source":{}}]}"#.to_owned(),
        Event::Assistant { thinking, words, calls } => {
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
            let list: Vec<String> = thinking.chain([block(words)]).chain(calls).collect();
            format!(r#"{{"role":"assistant","content":[{}]}}"#, list.join(","))
        }
        Event::Result { id, words, is_error, .. } => {
            let result = format!(
                r#"{{"type":"tool_result","tool_use_id":{},"content":{},"is_error":{is_error}}}"#,
                quote(id),
                words_json(words)
            );
            format!(r#"{{"role":"user","content":[{result}]}}"#)
        }
    }
}

fn items(event: &Event) -> Vec<String> {
    let message = |role: &str, words: &Words| {
        format!(r#"{{"type":"message","role":"{role}","content":{}}}"#, words_json(words))
    };
    match event {
        Event::System(words) => vec![message("developer", words)],
        Event::User(words) => vec![message("user", words)],
        Event::Picture(words) => {
            let picture = r#"{"type":"input_image","image_url":"data:image/png;base64,AAAA"}"#;
            let text = format!(r#"{{"type":"input_text","text":{}}}"#, words_json(words));
            vec![format!(r#"{{"type":"message","role":"user","content":[{text},{picture}]}}"#)]
        }
        Event::Own => {
            vec![r#"{"type":"web_search_call","id":"ws_1","status":"completed"}"#.to_owned()]
        }
        Event::Assistant { thinking, words, calls } => {
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
            thinking.chain([message("assistant", words)]).chain(calls).collect()
        }
        Event::Result { id, words, .. } => {
            vec![format!(
                r#"{{"type":"function_call_output","call_id":{},"output":{}}}"#,
                quote(id),
                words_json(words)
            )]
        }
    }
}

fn contents(event: &Event) -> String {
    let part = |words: &Words| format!(r#"{{"text":{}}}"#, words_json(words));
    match event {
        Event::System(words) | Event::User(words) => {
            format!(r#"{{"role":"user","parts":[{}]}}"#, part(words))
        }
        Event::Picture(words) => {
            let picture = r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"}}"#;
            format!(r#"{{"role":"user","parts":[{},{picture}]}}"#, part(words))
        }
        Event::Own => r#"{"role":"user","parts":[{"fileData":{"fileUri":"files/1"}}]}"#.to_owned(),
        Event::Assistant { thinking, words, calls } => {
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
            let list: Vec<String> = thinking.chain([part(words)]).chain(calls).collect();
            format!(r#"{{"role":"model","parts":[{}]}}"#, list.join(","))
        }
        Event::Result { id, name, words, .. } => {
            let (id, name) = (gemini_id(id), quote(name));
            let response =
                format!(r#"{{{id}"name":{name},"response":{{"output":{}}}}}"#, words_json(words));
            format!(r#"{{"role":"user","parts":[{{"functionResponse":{response}}}]}}"#)
        }
    }
}

/// Most of Gemini's calls have no id.
fn gemini_id(id: &str) -> String {
    if id.ends_with(['1', '2']) { format!(r#""id":{},"#, quote(id)) } else { String::new() }
}
