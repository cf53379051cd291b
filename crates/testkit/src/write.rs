//! Generated conversations as the JSON of each wire, written plainly and apart from the code under test.

use serde_json::Value;
use waterline::message::Wire;

use crate::generate::{CallEvent, Event, Words};

/// The conversation as a request body of a wire.
#[must_use]
pub fn body(wire: Wire, events: &[Event]) -> String {
    let list: Vec<String> = events.iter().flat_map(|event| messages(wire, event)).collect();
    let name = match wire {
        Wire::OpenaiChat | Wire::Anthropic => "messages",
        Wire::OpenaiResponses => "input",
        Wire::Gemini => "contents",
    };
    format!("{{\"id\":\"generated\",\"{name}\":[{}]}}", list.join(","))
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
    match wire {
        Wire::OpenaiChat => vec![chat(event)],
        Wire::OpenaiResponses => items(event),
        Wire::Anthropic => vec![blocks(event)],
        Wire::Gemini => vec![contents(event)],
    }
}

fn chat(event: &Event) -> String {
    match event {
        Event::System(words) => format!(r#"{{"role":"system","content":{}}}"#, words_json(words)),
        Event::User(words) => format!(r#"{{"role":"user","content":{},"x":1.0}}"#, words_json(words)),
        Event::Assistant { thinking, words, calls } => {
            let thinking =
                thinking.as_ref().map_or_else(String::new, |text| format!(",\"reasoning_content\":{}", quote(text)));
            let list: Vec<String> = calls.iter().map(chat_call).collect();
            let list = if list.is_empty() { String::new() } else { format!(",\"tool_calls\":[{}]", list.join(",")) };
            format!(r#"{{"role":"assistant","content":{}{thinking}{list}}}"#, words_json(words))
        }
        Event::Result { id, words, is_error } => {
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
    format!(r#"{{"id":{id},"type":"function","function":{{"name":"tool","arguments":{arguments}}}}}"#)
}

fn blocks(event: &Event) -> String {
    let block = |words: &Words| format!(r#"{{"type":"text","text":{}}}"#, words_json(words));
    match event {
        Event::System(words) => format!(r#"{{"role":"system","content":[{}]}}"#, block(words)),
        Event::User(words) => format!(r#"{{"role":"user","content":{}}}"#, words_json(words)),
        Event::Assistant { thinking, words, calls } => {
            let thinking = thinking
                .iter()
                .map(|text| format!(r#"{{"type":"thinking","thinking":{},"signature":"sig"}}"#, quote(text)));
            let calls = calls.iter().map(|call| {
                let input = if call.arguments.starts_with('{') { call.arguments.clone() } else { "{}".to_owned() };
                format!(r#"{{"type":"tool_use","id":{},"name":"tool","input":{input}}}"#, quote(&call.id))
            });
            let list: Vec<String> = thinking.chain([block(words)]).chain(calls).collect();
            format!(r#"{{"role":"assistant","content":[{}]}}"#, list.join(","))
        }
        Event::Result { id, words, is_error } => {
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
    let message =
        |role: &str, words: &Words| format!(r#"{{"type":"message","role":"{role}","content":{}}}"#, words_json(words));
    match event {
        Event::System(words) => vec![message("developer", words)],
        Event::User(words) => vec![message("user", words)],
        Event::Assistant { thinking, words, calls } => {
            let thinking = thinking
                .iter()
                .map(|_| r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"secret"}"#.to_owned());
            let calls = calls.iter().map(|call| {
                format!(
                    r#"{{"type":"function_call","id":"fc_1","call_id":{},"name":"tool","arguments":{}}}"#,
                    quote(&call.id),
                    quote(&call.arguments)
                )
            });
            thinking.chain([message("assistant", words)]).chain(calls).collect()
        }
        Event::Result { id, words, .. } => {
            vec![format!(r#"{{"type":"function_call_output","call_id":{},"output":{}}}"#, quote(id), words_json(words))]
        }
    }
}

fn contents(event: &Event) -> String {
    let part = |words: &Words| format!(r#"{{"text":{}}}"#, words_json(words));
    match event {
        Event::System(words) | Event::User(words) => format!(r#"{{"role":"user","parts":[{}]}}"#, part(words)),
        Event::Assistant { thinking, words, calls } => {
            let thinking = thinking.iter().map(|text| format!(r#"{{"text":{},"thought":true}}"#, quote(text)));
            let calls = calls.iter().map(|call| {
                let args = if call.arguments.starts_with('{') { call.arguments.clone() } else { "{}".to_owned() };
                format!(r#"{{"functionCall":{{"name":"tool","args":{args}}},"thoughtSignature":"sig"}}"#)
            });
            let list: Vec<String> = thinking.chain([part(words)]).chain(calls).collect();
            format!(r#"{{"role":"model","parts":[{}]}}"#, list.join(","))
        }
        Event::Result { words, .. } => {
            let response =
                format!(r#"{{"functionResponse":{{"name":"tool","response":{{"output":{}}}}}}}"#, words_json(words));
            format!(r#"{{"role":"user","parts":[{response}]}}"#)
        }
    }
}
